"""The numeric part of examples/noise_comparison.py."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = runpy.run_path(
    str(Path(__file__).parents[2] / "examples" / "noise_comparison.py"), run_name="example"
)
NOISES = {noise.name: noise for noise in EXAMPLE["NOISES"]}


def density(noise, x):
    s = noise.scale
    kind = noise.name.split()[0]
    if kind == "Gaussian":
        return np.exp(-0.5 * (x / s) ** 2)
    if kind == "Laplace":
        return np.exp(-np.abs(x) / s)
    if kind == "Gumbel":
        return np.exp(-x / s - np.exp(-x / s))
    if kind == "logistic":
        return np.cosh(0.5 * x / s) ** -2.0
    if kind == "Student":
        return (1.0 + (x / s) ** 2 / noise.shape) ** (-0.5 * (noise.shape + 1.0))
    return np.exp(-(np.abs(x / s) ** noise.shape))


@pytest.mark.parametrize("name", NOISES)
def test_variance_and_information(name):
    noise = NOISES[name]
    # x = sinh(u): the variance of three degrees of freedom needs far tails.
    u = np.linspace(-14.0, 14.0, 400_001)
    x, weight = np.sinh(u), np.cosh(u)
    with np.errstate(over="ignore", under="ignore"):
        f = density(noise, np.clip(x, -600.0 * noise.scale, None) if name == "Gumbel" else x)
    f = np.where(x < -600.0 * noise.scale, 0.0, f) if name in ("Gumbel", "logistic") else f
    total = float((f * weight).sum())
    mean = float((f * x * weight).sum()) / total
    variance = float((f * (x - mean) ** 2 * weight).sum()) / total
    assert variance == pytest.approx(1.0, rel=2e-5)
    kept = f > 1e-200
    score = np.gradient(np.log(np.where(kept, f, 1.0)), x)
    information = float((f * score**2 * weight)[kept].sum()) / total
    assert information == pytest.approx(noise.information, rel=2e-3)


def test_many_uses_depend_on_the_information_only():
    release = EXAMPLE["Release"]("many", 100.0, 10_000)
    for name in ("Laplace", "logistic"):
        noise = NOISES[name]
        found = EXAMPLE["epsilons"](noise, release, [1e-3])[0]
        limit = EXAMPLE["Release"]("one", 1.0 / math.sqrt(noise.information), 1)
        exact = EXAMPLE["epsilons"](NOISES["Gaussian"], limit, [1e-3])[0]
        assert found == pytest.approx(exact, rel=2e-2)


def test_which_is_better():
    one, several = EXAMPLE["RELEASES"][0], EXAMPLE["RELEASES"][2]
    names = ("Gaussian", "Laplace", "logistic")
    once = [EXAMPLE["epsilons"](NOISES[n], one, [1e-5])[0] for n in names]
    often = [EXAMPLE["epsilons"](NOISES[n], several, [1e-5])[0] for n in names]
    assert once[1] < once[2] < once[0]
    assert often[0] < often[2] < often[1]


def test_the_figure_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    draw = EXAMPLE["draw"]
    draw.__globals__["NOISES"] = EXAMPLE["NOISES"][:1]
    draw(str(tmp_path / "figure.png"), np.array([1e-2, 1e-4]))
    assert (tmp_path / "figure.png").stat().st_size > 10_000
