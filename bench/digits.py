"""The digits program beside the same training written with Opacus: accuracy and speed.

    python bench/digits.py             # 30 runs of each at each ε, writes bench/results/digits.md
    python bench/digits.py --quick     # 4 runs, to the screen only

Needs scikit-learn, torch and opacus. Both start from the same weights, with the same split, noise
multiplier, clipping norm, rate of learning and of sampling, and as many steps; one thread each, in
turns.
"""

from __future__ import annotations

from typing import Any

from beside_opacus import Result, report, row, with_opacus  # isort: skip
from examples._classifiers import CLASSIFIERS
from examples._data import digits
from examples.digits import CLASSES, train
from harness import options_of

from renyi.sgd import TrainingPlan

EPSILONS, DELTA, RUNS = (1.0, 3.0, 8.0), 1e-5, 30
BATCH, EPOCHS, NORM, LEARNING_RATE = 256, 20, 0.5, 2.0


def both(kind: str, epsilon: float, seed: int) -> tuple[Result, Result]:
    import torch

    data = digits(seed)
    records = {"population": len(data.train), "batch_size": BATCH, "epochs": EPOCHS}
    plan = TrainingPlan.calibrated(epsilon, DELTA, max_grad_norm=NORM, **records)
    classifier = CLASSIFIERS[kind](data.train.shape[1], CLASSES, seed)
    network = module_of(classifier, torch)
    run = train(classifier, data, plan, LEARNING_RATE, DELTA)
    images, labels = torch.tensor(data.train), torch.tensor(data.train_labels)
    loss = torch.nn.CrossEntropyLoss()
    found, speed = with_opacus(
        network,
        lambda parameters: torch.optim.SGD(parameters, lr=LEARNING_RATE),
        plan,
        lambda module, drawn: loss(module(images[drawn]), labels[drawn]),
    )
    with torch.no_grad():
        right = found(torch.tensor(data.test)).argmax(dim=1).numpy() == data.test_labels
    return (run.accuracies[-1], run.images_per_second), (float(right.mean()), speed)


def module_of(classifier: Any, torch: Any) -> Any:
    layers: list[Any] = []
    for weights, bias in zip(classifier.parameters[::2], classifier.parameters[1::2], strict=True):
        layer = torch.nn.Linear(*weights.shape)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(weights.T))
            layer.bias.copy_(torch.tensor(bias))
        layers += [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def main() -> None:
    quick = options_of(__doc__, quick=False).quick
    runs = 4 if quick else RUNS
    rows = [
        row(
            [CLASSIFIERS[kind].name, f"{epsilon:g}"],
            runs,
            lambda seed, kind=kind, epsilon=epsilon: both(kind, epsilon, seed),
            ".2%",
        )
        for kind in CLASSIFIERS
        for epsilon in EPSILONS
    ]
    method = (
        f"{runs} runs of each at each ε, δ = {DELTA:g}, batch {BATCH}, {EPOCHS} epochs, clipping "
        f"norm {NORM:g}, learning rate {LEARNING_RATE:g}; accuracy of held-out images; images per "
        "second and their ratio are medians over the runs"
    )
    report(
        "Private recognition of digits", "classifier|ε", rows, method, None if quick else "digits"
    )


if __name__ == "__main__":
    main()
