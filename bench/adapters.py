"""The program of adapters beside the same training written with Opacus: loss and speed.

    python bench/adapters.py             # 8 runs at each ε, writes bench/results/adapters.md
    python bench/adapters.py --quick     # 1 run at ε 3, to the screen only

Needs torch and opacus. Both start from the same frozen weights and adapters, with the same split,
noise multiplier, clipping norm, rule and rate of sampling, and as many steps; one thread each, in
turns. Opacus makes the gradients of all samples (`GradSampleModule`, `DPOptimizer`).
"""

from __future__ import annotations

from typing import Any

from beside_opacus import Result, report, row, with_opacus  # isort: skip
import numpy as np
from examples._text import docstrings, reference
from examples._transformer import Transformer
from examples.adapters import LENGTH, pretrain, split, train
from harness import options_of

from renyi.sgd import TrainingPlan

EPSILONS, DELTA, RUNS = (1.0, 3.0, 8.0), 1e-5, 8
BATCH, NORM, RANK, LEARNING_RATE, PUBLIC_STEPS = 128, 0.5, 8, 1e-2, 300


def both(public: Transformer, texts: Any, epsilon: float, seed: int) -> tuple[Result, Result]:
    import torch

    records, held_out = split(texts, seed)
    settings = {"population": len(records), "batch_size": BATCH, "epochs": 1}
    plan = TrainingPlan.calibrated(epsilon, DELTA, max_grad_norm=NORM, **settings)
    public.gain[...], public.bias[...] = 1.0, 0.0
    adapted = public.adapt(RANK, seed)
    network = torch_model(public, torch)
    run = train(public, adapted, records, held_out, plan, LEARNING_RATE)
    cross_entropy = torch.nn.CrossEntropyLoss()

    def loss(module: Any, tokens: Any) -> Any:
        return cross_entropy(module(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    every = torch.tensor(records)
    found, speed = with_opacus(
        network,
        lambda parameters: torch.optim.Adam(parameters, lr=LEARNING_RATE),
        plan,
        lambda module, drawn: loss(module, every[drawn]),
    )
    with torch.no_grad():
        bits = float(loss(found, torch.tensor(held_out))) / np.log(2.0)
    return (run.bits, run.records_per_second), (bits, speed)


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


def main() -> None:
    quick = options_of(__doc__, quick=False).quick
    texts, public = docstrings(LENGTH + 1), Transformer(0)
    pretrain(public, reference(), PUBLIC_STEPS, 0)
    before = np.mean([public.losses(split(texts, seed)[1]).mean() for seed in range(RUNS)])
    runs = 1 if quick else RUNS
    rows = [
        row([f"{e:g}"], runs, lambda seed, e=e: both(public, texts, e, seed), ".4f")
        for e in (EPSILONS[1:2] if quick else EPSILONS)
    ]
    method = (
        f"{runs} runs of each at each ε, δ = {DELTA:g}, batch {BATCH}, one epoch, clipping norm "
        f"{NORM:g}, Adam with learning rate {LEARNING_RATE:g}; bits for each character of held-out "
        f"records, {before:.4f} before; records per second and their ratio are medians"
    )
    report("Private adapters", "ε", rows, method, None if quick else "adapters")


if __name__ == "__main__":
    main()
