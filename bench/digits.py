"""The digits program beside the same training written with Opacus: accuracy and speed.

    python bench/digits.py             # 30 runs of each at each ε, writes bench/results/digits.md
    python bench/digits.py --quick     # 4 runs, to the screen only

Needs scikit-learn, torch and opacus. Both start from the same weights, with the same split, noise
multiplier, clipping norm, rate of learning and of sampling, and as many steps; one thread each, in
turns. Opacus is spared its data loader: batches are indexed from a tensor.
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
from examples._classifiers import CLASSIFIERS
from examples._data import Split, digits
from examples.digits import CLASSES, train
from facts import facts
from speed import table
from tqdm import tqdm

from renyi.sgd import TrainingPlan

OUTPUT = Path(__file__).parent / "results" / "digits.md"
EPSILONS, DELTA, RUNS = (1.0, 3.0, 8.0), 1e-5, 30
BATCH, EPOCHS, NORM, LEARNING_RATE = 256, 20, 0.5, 2.0


class Result(NamedTuple):
    accuracy: float
    images_per_second: float


def with_renyi(classifier: Any, data: Split, plan: TrainingPlan) -> Result:
    run = train(classifier, data, plan, LEARNING_RATE, DELTA)
    return Result(run.accuracies[-1], run.images_per_second)


def with_opacus(classifier: Any, data: Split, plan: TrainingPlan) -> Result:
    import torch
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    torch.set_num_threads(1)
    model = GradSampleModule(_module(classifier, torch))
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=LEARNING_RATE),
        noise_multiplier=plan.noise_multiplier,
        max_grad_norm=NORM,
        expected_batch_size=BATCH,
    )
    images, labels = torch.tensor(data.train), torch.tensor(data.train_labels)
    loss, used, start = torch.nn.CrossEntropyLoss(), 0, time.perf_counter()
    for _ in range(plan.steps):
        batch = torch.rand(len(images)) < plan.sample_rate
        optimizer.zero_grad()
        loss(model(images[batch]), labels[batch]).backward()
        optimizer.step()
        used += int(batch.sum())
    seconds = time.perf_counter() - start
    with torch.no_grad():
        found = model(torch.tensor(data.test)).argmax(dim=1).numpy()
    return Result(float(np.mean(found == data.test_labels)), used / seconds)


def _module(classifier: Any, torch: Any) -> Any:
    layers: list[Any] = []
    for weights, bias in zip(classifier.parameters[::2], classifier.parameters[1::2], strict=True):
        layer = torch.nn.Linear(*weights.shape)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(weights.T))
            layer.bias.copy_(torch.tensor(bias))
        layers += [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def compared(kind: str, epsilon: float, runs: int) -> list[str]:
    """One row of the table: both, in turns."""
    results: dict[str, list[Result]] = {"renyi": [], "Opacus": []}
    for seed in tqdm(
        range(runs), desc=f"{kind}, ε {epsilon:g}", disable=None, leave=False, file=sys.stderr
    ):
        data = digits(seed)
        plan = TrainingPlan.calibrated(
            epsilon,
            DELTA,
            population=len(data.train),
            batch_size=BATCH,
            epochs=EPOCHS,
            max_grad_norm=NORM,
        )
        for name, trained in (("renyi", with_renyi), ("Opacus", with_opacus)):
            classifier = CLASSIFIERS[kind](data.train.shape[1], CLASSES, seed)
            results[name].append(trained(classifier, data, plan))
    ours, theirs = (np.array(results[name]).T for name in results)
    difference = ours[0] - theirs[0]  # of the same split and start
    error = difference.std(ddof=1) / runs**0.5
    ratio = np.median(ours[1] / theirs[1])
    return [
        CLASSIFIERS[kind].name,
        f"{epsilon:g}",
        f"{ours[0].mean():.2%}",
        f"{theirs[0].mean():.2%}",
        f"{100 * difference.mean():+.2f} ± {100 * error:.2f} points",
        f"{np.median(ours[1]):,.0f}",
        f"{np.median(theirs[1]):,.0f}",
        f"{ratio:.1f} ×",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs, to the screen only")
    runs = 4 if parser.parse_args().quick else RUNS
    import opacus
    import torch

    rows = [compared(kind, epsilon, runs) for kind in CLASSIFIERS for epsilon in EPSILONS]
    method = (
        f"{runs} runs of each at each ε, in turns, with the same split and start, one thread; "
        f"δ = {DELTA:g}, batch {BATCH}, {EPOCHS} epochs, clipping norm {NORM:g}, "
        f"learning rate {LEARNING_RATE:g}; accuracy of held-out images, mean ± standard error; "
        "images per second and their ratio are medians over the runs"
    )
    peers = f"opacus {opacus.__version__}, torch {torch.__version__}"
    head = "classifier|ε|renyi|Opacus|difference|renyi, images/s|Opacus, images/s|ratio"
    text = "\n".join(
        [
            "# Private recognition of digits\n",
            facts({"Peers": peers, "Method": method}),
            table(head, rows),
        ]
    )
    print(text)
    if runs == RUNS:
        OUTPUT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
