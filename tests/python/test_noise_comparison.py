"""The numeric part of examples/noise_comparison.py."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "noise.md"
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


SCALED = [name for name, noise in NOISES.items() if math.isfinite(noise.scale)]


@pytest.mark.parametrize("name", SCALED)
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


@pytest.mark.parametrize("deviation", [0.3, 2.0, 4.0])
def test_staircase_of_a_deviation_has_the_least_epsilon(deviation):
    variance = EXAMPLE["staircase_variance"]
    noise = NOISES["staircase"].mechanism(deviation)
    gamma, b = noise.gamma, math.exp(-noise.epsilon)
    # The density by steps: b^k at k + gamma and below, from k - 1 + gamma on.
    ends = np.append(0.0, gamma + np.arange(2000.0))
    heights = b ** np.arange(2000.0)
    mass = (heights * np.diff(ends)).sum()
    square = (heights * np.diff(ends**3)).sum() / 3.0
    assert square / mass == pytest.approx(deviation**2, rel=1e-9)
    assert variance(noise.epsilon, gamma) < min(
        variance(noise.epsilon, gamma * other) for other in (0.99, 1.01)
    )


def test_skellam_noise_gains_less_than_a_twelfth_of_variance():
    def epsilon(name, variance):
        release = EXAMPLE["Release"]("many", math.sqrt(variance), 256)
        return EXAMPLE["epsilons"](NOISES[name], release, [1e-5])[0]

    assert epsilon("Gaussian", 16.0 + 1.0 / 12.0) < epsilon("Skellam", 16.0)
    assert epsilon("Skellam", 16.0) < epsilon("Gaussian", 16.0)


@pytest.mark.parametrize("noise", EXAMPLE["NOISES"], ids=lambda noise: noise.name)
def test_the_page_says_what_one_and_sixteen_uses_cost(noise):
    rows = PAGE.read_text(encoding="utf-8").splitlines()
    row = next(line for line in rows if line.startswith(f"| {noise.name} |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")][2:6]
    found = [
        EXAMPLE["_rounded_up"](value)
        for release in EXAMPLE["RELEASES"][:2]
        for value in EXAMPLE["epsilons"](noise, release, EXAMPLE["DELTAS"])
    ]
    assert cells == found


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
