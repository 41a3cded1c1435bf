"""The program of adapters beside the same training written with Opacus: loss and speed.

    python bench/adapters.py             # 8 runs at each ε, writes bench/results/adapters.md
    python bench/adapters.py --quick     # 1 run at ε 3, to the screen only

Needs torch and opacus. Both start from the same frozen weights and adapters, with the same split,
noise multiplier, clipping norm, rule and rate of sampling, and as many steps; one thread each, in
turns. Opacus makes the gradients of all samples (`GradSampleModule`, `DPOptimizer`); it is spared
its data loader.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is there
sys.path.append(str(Path(__file__).resolve().parents[1]))  # for examples

# ruff: noqa: E402
import numpy as np
from examples._text import docstrings, reference
from examples._transformer import Transformer
from examples.adapters import LENGTH, pretrain, split, train
from facts import facts
from speed import table
from tqdm import tqdm

from renyi.sgd import TrainingPlan

OUTPUT = Path(__file__).parent / "results" / "adapters.md"
EPSILONS, DELTA, RUNS = (1.0, 3.0, 8.0), 1e-5, 8
BATCH, NORM, RANK, LEARNING_RATE, PUBLIC_STEPS = 128, 0.5, 8, 1e-2, 300


class Result(NamedTuple):
    bits: float
    records_per_second: float


def with_renyi(model: Transformer, records: Any, held_out: Any, plan: TrainingPlan) -> Result:
    run = train(model, adapted_of(model), records, held_out, plan, LEARNING_RATE)
    return Result(run.bits, run.records_per_second)


def adapted_of(model: Transformer) -> list[Any]:
    return [array for pair in model.adapters.values() for array in pair] + [model.gain, model.bias]


def with_opacus(model: Transformer, records: Any, held_out: Any, plan: TrainingPlan) -> Result:
    import torch
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    torch.set_num_threads(1)
    module = GradSampleModule(torch_model(model, torch))
    optimizer = DPOptimizer(
        torch.optim.Adam([p for p in module.parameters() if p.requires_grad], lr=LEARNING_RATE),
        noise_multiplier=plan.noise_multiplier,
        max_grad_norm=NORM,
        expected_batch_size=BATCH,
    )
    texts, loss = torch.tensor(records), torch.nn.CrossEntropyLoss()
    used, start = 0, time.process_time()
    for _ in range(plan.steps):
        batch = texts[torch.rand(len(texts)) < plan.sample_rate]
        optimizer.zero_grad()
        loss(module(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten()).backward()
        optimizer.step()
        used += len(batch)
    seconds = time.process_time() - start
    with torch.no_grad():
        texts = torch.tensor(held_out)
        bits = loss(module(texts[:, :-1]).flatten(0, 1), texts[:, 1:].flatten()) / np.log(2.0)
    return Result(float(bits), used / seconds)


def torch_model(model: Transformer, torch: Any) -> Any:
    """Return the same network; only adapters and the last norm are trained."""
    nn = torch.nn

    def linear(matrix: Any, trained: bool) -> Any:
        layer = nn.Linear(*matrix.shape, bias=False)
        layer.weight.data = torch.tensor(np.ascontiguousarray(matrix.T))
        layer.weight.requires_grad_(trained)
        return layer

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            weights = model.weights
            for name in ("characters", "places"):
                table = nn.Embedding.from_pretrained(torch.tensor(weights[name]), freeze=True)
                setattr(self, name, table)
            self.frozen, self.a, self.b = nn.ModuleDict(), nn.ModuleDict(), nn.ModuleDict()
            for name, (a, b) in model.adapters.items():
                key = name.replace(".", "_")
                self.frozen[key] = linear(weights[name], False)
                self.a[key], self.b[key] = linear(a, True), linear(b, True)
            self.last, self.head = nn.LayerNorm(len(model.gain)), linear(weights["head"], False)

        def project(self, name: str, x: Any) -> Any:
            return self.frozen[name](x) + self.b[name](self.a[name](x))

        def forward(self, tokens: Any) -> Any:
            norm = nn.functional.layer_norm
            x = self.characters(tokens) + self.places.weight[: tokens.shape[1]]
            for k in range(model.blocks):
                qkv = self.project(f"{k}_qkv", norm(x, x.shape[-1:]))
                q, key, v = (
                    part.unflatten(2, (model.heads, -1)).transpose(1, 2)
                    for part in qkv.chunk(3, dim=2)
                )
                seen = nn.functional.scaled_dot_product_attention(q, key, v, is_causal=True)
                x = x + self.project(f"{k}_out", seen.transpose(1, 2).flatten(2))
                raised = self.project(f"{k}_up", norm(x, x.shape[-1:])).relu()
                x = x + self.project(f"{k}_down", raised)
            return self.head(self.last(x))

    return Network()


def compared(epsilon: float, runs: int, public: Transformer, texts: Any) -> list[str]:
    """One row of the table: both, in turns."""
    results: dict[str, list[Result]] = {"renyi": [], "Opacus": []}
    for seed in tqdm(range(runs), desc=f"ε {epsilon:g}", disable=None, leave=False):
        records, held_out = split(texts, seed)
        settings = {"population": len(records), "batch_size": BATCH, "epochs": 1}
        plan = TrainingPlan.calibrated(epsilon, DELTA, max_grad_norm=NORM, **settings)
        for name, trained in (("renyi", with_renyi), ("Opacus", with_opacus)):
            public.gain[...], public.bias[...] = 1.0, 0.0
            public.adapt(RANK, seed)
            results[name].append(trained(public, records, held_out, plan))
    ours, theirs = (np.array(results[name]).T for name in results)
    difference = ours[0] - theirs[0]  # of the same split and start
    error = difference.std(ddof=1) / runs**0.5 if runs > 1 else np.nan
    return [
        f"{epsilon:g}",
        f"{ours[0].mean():.4f}",
        f"{theirs[0].mean():.4f}",
        f"{difference.mean():+.4f} ± {error:.4f}",
        f"{np.median(ours[1]):,.0f}",
        f"{np.median(theirs[1]):,.0f}",
        f"{np.median(ours[1] / theirs[1]):.2f} ×",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one run, to the screen only")
    quick = parser.parse_args().quick
    import opacus
    import torch

    texts, public = docstrings(LENGTH + 1), Transformer(0)
    pretrain(public, reference(), PUBLIC_STEPS, 0)
    before = np.mean([public.losses(split(texts, seed)[1]).mean() for seed in range(RUNS)])
    runs = 1 if quick else RUNS
    rows = [compared(e, runs, public, texts) for e in (EPSILONS[1:2] if quick else EPSILONS)]
    method = (
        f"{runs} runs of each at each ε, in turns, with the same split and start, one thread; "
        f"δ = {DELTA:g}, batch {BATCH}, one epoch, clipping norm {NORM:g}, Adam with learning rate "
        f"{LEARNING_RATE:g}; bits for each character of held-out records, mean ± standard error, "
        f"{before:.4f} before; records per second of processor time and their ratio are medians"
    )
    peers = f"opacus {opacus.__version__}, torch {torch.__version__}"
    head = "ε|renyi, bits|Opacus, bits|difference|renyi, records/s|Opacus, records/s|ratio"
    text = "\n".join(
        ["# Private adapters\n", facts({"Peers": peers, "Method": method}), table(head, rows)]
    )
    print(text)
    if not quick:
        OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
