"""Clipped sums by layers beside Opacus on the CPU: time and peak memory for each kind of layer.

    python bench/ghost_layers.py            # everything, writes bench/results/ghost_layers.md
    python bench/ghost_layers.py --quick    # one round, screen only

From activations and output gradients in single precision to the sum of clipped gradients of one
layer. Opacus does it in three ways, with its own samplers:

* ghost: norms by its norm sampler, or where it has none (convolutions, norms) from its per-sample
  gradients, then autograd once more for the parameters;
* ghost, as it runs: the same, where the second pass goes on to the input, as it does in every layer
  of a model but the first;
* per sample: gradients of all samples by its sampler, norms, weighted sum.

Sums of renyi are in double precision, as its guarantee needs; those of Opacus in single. Each
number of threads has a process of its own; contenders take turns, and the best of all rounds
counts: processor time of one thread, time on the clock of several. Memory is the peak beyond the
arguments, results included, in one more process in which every array is mapped by itself and given
back.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from clipping_speed import child_lines, extra_memory
from harness import facts, least, options_of, publish, table

from renyi.sgd import (
    ConvLayer,
    EmbeddingLayer,
    LinearLayer,
    LoRALayer,
    NormLayer,
    ghost_clip_and_sum,
)

BOUND = 1.0
OURS = "renyi"
GHOST, RUNS, ROWS = "Opacus, ghost", "Opacus, ghost as it runs", "Opacus, per sample"


# ------------------------------------------------------------------------- one number of threads


def cases() -> dict[str, Callable[[], tuple[Any, Any, Any]]]:
    """Name, and a torch module with its input and its output gradients."""
    import torch
    from torch import nn

    class Adapter(nn.Module):
        def __init__(self, inputs: int, rank: int, outputs: int) -> None:
            super().__init__()
            self.a = nn.Linear(inputs, rank, bias=False)
            self.b = nn.Linear(rank, outputs, bias=False)

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x))

    def made(module: Any, *shape: int, tokens: int = 0) -> Callable[[], tuple[Any, Any, Any]]:
        def make() -> tuple[Any, Any, Any]:
            x = torch.randint(tokens, shape) if tokens else torch.randn(shape)
            with torch.no_grad():
                g = torch.randn_like(module(x)) / 100
            return module, x, g

        return make

    return {
        "linear 768 to 768, B 256": made(nn.Linear(768, 768), 256, 768),
        "linear 512 to 512, B 32, T 256": made(nn.Linear(512, 512), 32, 256, 512),
        "linear 768 to 768, B 64, T 64": made(nn.Linear(768, 768), 64, 64, 768),
        "linear 512 to 512, B 64, T 16": made(nn.Linear(512, 512), 64, 16, 512),
        "adapter 768 to 768, rank 8, B 32, T 256": made(Adapter(768, 8, 768), 32, 256, 768),
        "embedding 8192 x 256, B 64, T 256": made(nn.Embedding(8192, 256), 64, 256, tokens=8192),
        "conv2d 64 to 64, 3 x 3, B 32, 32 x 32": made(
            nn.Conv2d(64, 64, 3, padding=1), 32, 64, 32, 32
        ),
        "conv2d 256 to 256, 3 x 3, B 32, 8 x 8": made(
            nn.Conv2d(256, 256, 3, padding=1), 32, 256, 8, 8
        ),
        "conv2d 64 to 128, stride 2, 4 groups, B 32, 32 x 32": made(
            nn.Conv2d(64, 128, 3, padding=1, stride=2, groups=4), 32, 64, 32, 32
        ),
        "conv1d 64 to 64, 5, dilation 2, B 64, 512": made(
            nn.Conv1d(64, 64, 5, padding=4, dilation=2), 64, 64, 512
        ),
        "layer norm 512, B 64, T 256": made(nn.LayerNorm(512), 64, 256, 512),
        "group norm 8 of 64, B 64, 32 x 32": made(nn.GroupNorm(8, 64), 64, 64, 32, 32),
    }


def ours(module: Any, x: Any, g: Any, threads: int) -> Callable[[], list[Any]]:
    """Return the call, and the sums in the layout of the module."""
    from torch import nn

    def layer() -> Any:
        if isinstance(module, nn.Linear):
            return LinearLayer(x, g)
        if isinstance(module, nn.Embedding):
            return EmbeddingLayer(x, g, module.num_embeddings)
        if isinstance(module, nn.Conv1d | nn.Conv2d):
            names = ("kernel_size", "stride", "padding", "dilation", "groups")
            return ConvLayer(x, g, *(getattr(module, name) for name in names))
        if isinstance(module, nn.LayerNorm):
            return NormLayer(x, g)
        if isinstance(module, nn.GroupNorm):
            return NormLayer(x, g, "group", groups=module.num_groups)
        a, b = (p.weight.detach().T for p in (module.a, module.b))
        return LoRALayer(x, g, a, b)

    def call() -> list[Any]:
        sums = ghost_clip_and_sum([layer()], BOUND, threads=threads).sum
        turned = isinstance(module, nn.Linear) or hasattr(module, "a")
        return [array.T if turned else array for array in sums]

    return call


def opacus_calls(module: Any, x: Any, g: Any) -> dict[str, Callable[[], list[Any]]]:
    """Return the three ways of Opacus."""
    import torch
    from opacus.grad_sample import GradSampleModule
    from opacus.grad_sample.grad_sample_module_fast_gradient_clipping import (
        GradSampleModuleFastGradientClipping as Fast,
    )

    parameters = list(module.parameters())

    def parts() -> list[tuple[Any, Any, Any]]:
        if not hasattr(module, "a"):
            return [(module, x, g)]
        with torch.no_grad():
            return [(module.a, x, g @ module.b.weight), (module.b, module.a(x), g)]

    def norms_of(layer: Any, a: Any, b: Any) -> list[Any]:
        sampler = Fast.NORM_SAMPLERS.get(type(layer))
        if sampler is not None:
            return list(sampler(layer, [a], b).values())
        rows = GradSampleModule.GRAD_SAMPLERS[type(layer)](layer, [a], b)
        return [row.reshape(len(row), -1).norm(2, dim=-1) for row in rows.values()]

    def factors(norms: list[Any]) -> Any:
        return (BOUND / (torch.stack(norms).norm(2, dim=0) + 1e-6)).clamp(max=1.0)

    def passed(leaf: Any) -> Callable[[], list[Any]]:
        out = module(leaf)  # kept, as the first pass back leaves it

        def ghost() -> list[Any]:
            with torch.no_grad():
                found = [norm for part in parts() for norm in norms_of(*part)]
                weights = factors(found).reshape(-1, *[1] * (g.ndim - 1))
                weighted = weights * g
            wanted = [*parameters, leaf] if leaf.requires_grad else parameters
            return list(torch.autograd.grad(out, wanted, weighted, retain_graph=True))[
                : len(parameters)
            ]

        return ghost

    def per_sample() -> list[Any]:
        with torch.no_grad():
            rows = [
                row
                for layer, a, b in parts()
                for row in GradSampleModule.GRAD_SAMPLERS[type(layer)](layer, [a], b).values()
            ]
            weights = factors([row.reshape(len(row), -1).norm(2, dim=-1) for row in rows])
            return [torch.einsum("i,i...", weights, row) for row in rows]

    calls = {GHOST: passed(x), ROWS: per_sample}
    if x.is_floating_point():
        calls[RUNS] = passed(x.clone().requires_grad_())
    return calls


def measure(threads: int, rounds: int, only: str) -> None:
    """Print times in seconds and bytes of memory, a line of JSON for each case."""
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    for name, make in cases().items():
        if only not in name:
            continue
        module, x, g = make()
        calls = {OURS: ours(module, x, g, threads), **opacus_calls(module, x, g)}
        want = [np.asarray(array) for array in calls[OURS]()]
        for key, call in calls.items():
            for got, array in zip(call(), want, strict=True):
                if not np.allclose(np.asarray(got), array, rtol=4e-3, atol=2e-3):
                    raise AssertionError(f"{key} differs: {name}")
        found = {key: extra_memory(call) for key, call in calls.items()}
        clock = time.process_time if threads == 1 else time.perf_counter
        seconds = dict.fromkeys(calls, float("inf"))
        for _ in range(rounds):
            for key, call in calls.items():
                seconds[key] = min(seconds[key], least(call, clock=clock)[1])
        line = {"case": name, "threads": threads, "seconds": seconds, "memory": found}
        print(json.dumps(line), flush=True)


# ------------------------------------------------------------------------------------ the tables


def rows(lines: list[dict[str, Any]], field: str, shown: Callable[[float], str]) -> str:
    """Return a table; in brackets times as much as renyi."""
    names = [OURS, GHOST, RUNS, ROWS]
    cells = []
    for line in lines:
        found, mine = line[field], max(line[field][OURS], 1e-9)
        cells.append([line["case"], str(line["threads"]), shown(mine)])
        for name in names[1:]:
            value = found.get(name)
            cells[-1].append("" if value is None else f"{shown(value)} ({value / mine:.1f} ×)")
    return table("|".join(["layer", "threads", *names]), cells)


def main() -> None:
    """Measure in processes of their own, and put the numbers side by side."""
    options = options_of(__doc__, quick=False, only="", child=0)
    rounds = 1 if options.quick else 7
    if options.child:
        measure(options.child, rounds, options.only)
        return
    lines, only = [], ["--only", options.only]
    for threads in (1, 2):
        timed = child_lines(__file__, threads, [*only, *(["--quick"] if options.quick else [])])
        apart = {"MALLOC_MMAP_THRESHOLD_": "65536"}
        mapped = child_lines(__file__, threads, [*only, "--quick"], apart)
        lines += [a | {"memory": b["memory"]} for a, b in zip(timed, mapped, strict=True)]
    import opacus
    import torch

    peers = f"opacus {opacus.__version__}, torch {torch.__version__}"
    method = (
        f"single precision, best of {rounds} rounds in turns; in brackets times as much as renyi"
    )
    parts = [
        "# Clipped sums by layers\n",
        facts({"Peers": peers, "Method": method}),
        rows(lines, "seconds", lambda s: f"{s * 1e3:.1f} ms"),
        "Memory at the peak, beyond the arguments and with the results:\n",
        rows(lines, "memory", lambda b: f"{max(b, 1.0) / 1e6:.1f} MB"),
    ]
    publish(parts, None if options.quick or options.only else "ghost_layers")


if __name__ == "__main__":
    main()
