"""Private training beside the same training written with Opacus; import this before NumPy."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # for examples

# ruff: noqa: E402
import numpy as np
from harness import facts, publish, table
from tqdm import tqdm

from renyi.sgd import TrainingPlan

Result = tuple[float, float]  # quality, and records per second of processor time


def with_opacus(
    network: Any, rule: Callable[[Any], Any], plan: TrainingPlan, loss: Callable[[Any, Any], Any]
) -> tuple[Any, float]:
    """Train a network and return it with its records per second.

    Opacus is spared its data loader: ``loss`` takes the network and which records are drawn.
    """
    import torch
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    torch.set_num_threads(1)
    module = GradSampleModule(network)
    optimizer = DPOptimizer(
        rule([p for p in module.parameters() if p.requires_grad]),
        noise_multiplier=plan.noise_multiplier,
        max_grad_norm=plan.max_grad_norm,
        expected_batch_size=plan.expected_batch_size,
    )
    used, start = 0, time.process_time()
    for _ in range(plan.steps):
        drawn = torch.rand(plan.population) < plan.sample_rate
        optimizer.zero_grad()
        loss(module, drawn).backward()
        optimizer.step()
        used += int(drawn.sum())
    return module, used / (time.process_time() - start)


def row(
    names: list[str], runs: int, both: Callable[[int], tuple[Result, Result]], told: str
) -> list[str]:
    """Return the cells of so many runs of both, in turns; ``told`` formats a quality."""
    seeds = tqdm(range(runs), desc=", ".join(names), disable=None, leave=False, file=sys.stderr)
    ours, theirs = np.array([both(seed) for seed in seeds]).transpose(1, 2, 0)
    difference = ours[0] - theirs[0]  # of the same split and start
    error = difference.std(ddof=1) / runs**0.5 if runs > 1 else np.nan
    return [
        *names,
        *(f"{one[0].mean():{told}}" for one in (ours, theirs)),
        f"{difference.mean():+{told}} ± {error:{told}}",
        *(f"{np.median(one[1]):,.0f}" for one in (ours, theirs)),
        f"{np.median(ours[1] / theirs[1]):.2f} ×",
    ]


def report(title: str, head: str, rows: list[list[str]], method: str, name: str | None) -> None:
    """Publish the table."""
    import opacus
    import torch

    peers = f"opacus {opacus.__version__}, torch {torch.__version__}"
    method = f"in turns, with the same split and start, one thread; {method}; mean ± standard error"
    parts = [f"# {title}\n", facts({"Peers": peers, "Method": method})]
    columns = "renyi|Opacus|difference|renyi, records/s|Opacus, records/s|ratio"
    publish([*parts, table(f"{head}|{columns}", rows)], name)
