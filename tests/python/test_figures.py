"""The numeric parts of the figures of examples: composition, figure 1, noise, convergence."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pytest
from each import slow

from renyi import special

EXAMPLES = Path(__file__).parents[2] / "examples"
COMPOSITION = runpy.run_path(str(EXAMPLES / "composition_figures.py"), run_name="figure")
COUNTS = COMPOSITION["KNOWN_COUNTS"]


@pytest.mark.parametrize("panel", [3, *slow(0, 1, 2, 4, 5)])
def test_bounds_have_the_known_values(panel):
    _, mechanism = COMPOSITION["PANELS"][panel]
    known = np.array(COMPOSITION["KNOWN"][panel])
    for column, bound in enumerate(("tight", "general")):
        found = COMPOSITION["by_bound"](mechanism, bound, COUNTS)
        # The cut by the largest loss of a sample makes some a little smaller.
        assert (found <= known[:, column] * (1 + 1e-4)).all()
        np.testing.assert_allclose(found, known[:, column], rtol=1e-2)
    lower = COMPOSITION["by_bound"](mechanism, "lower", COUNTS)
    assert (lower <= COMPOSITION["by_bound"](mechanism, "tight", COUNTS)).all()


@pytest.mark.parametrize("panel", [3, *slow(0, 4)])
def test_the_exact_curve_is_below_all_bounds(panel):
    _, mechanism = COMPOSITION["PANELS"][panel]
    counts = (1024, 60_000)
    found = COMPOSITION["exact"](mechanism, counts)
    assert (found < COMPOSITION["by_bound"](mechanism, "tight", counts)).all()
    assert (found < COMPOSITION["unsampled"](mechanism, counts)).all()
    assert (found > 0.0).all()


@pytest.mark.parametrize("panel", [3, *slow(5)])
def test_every_method_is_above_the_exact_curve_and_strong_below_naive_in_the_end(panel):
    _, mechanism = COMPOSITION["PANELS"][panel]
    found = COMPOSITION["compositions"](mechanism, (64, 4096))
    exact = found.pop("exact privacy curve")
    assert set(found) < set(COMPOSITION["STYLES"])
    for label, values in found.items():
        assert (values >= exact).all(), label
    assert found["strong composition"][1] < found["naive composition"][1]
    assert np.isfinite(found["leading term of 2016"]).all() == (panel == 3)


def test_divergences_are_in_order():
    _, mechanism = COMPOSITION["PANELS"][4]
    found = COMPOSITION["divergences"](mechanism, np.array([2.0, 5.0, 40.0, 400.0]))
    tight = found["tight bound"]
    np.testing.assert_allclose(found["lower bound"], tight, rtol=1e-12)
    assert (found["general bound (factor 3)"] >= tight).all()
    for few, more in (("2 terms", "10 terms"), ("10 terms", "50 terms")):
        assert (found[few] >= found[more] * (1 - 1e-12)).all()
    assert (found["50 terms"] >= tight).all()
    assert (found["fixed size, a record replaced"] >= tight).all()
    assert (found["no sampling"] >= tight).all()


# --- figure 1


FIGURE1 = runpy.run_path(str(EXAMPLES / "figure1.py"), run_name="figure")


def test_the_table_of_the_left_panel():
    known = [row for sigma in FIGURE1["SIGMAS"] for row in FIGURE1["KNOWN"][sigma]]
    rows = FIGURE1["table"]()
    assert len(rows) == len(known) == 12
    for (sigma, q, first, second, largest, exact), (on_grid_1, on_grid_2, whole) in zip(
        rows, known, strict=True
    ):
        assert on_grid_1 * 0.999 < first < on_grid_1 * 1.004
        assert on_grid_2 * 0.999 < second < on_grid_2 * 1.004
        assert largest == pytest.approx(min(first, second), rel=1e-9)
        assert math.floor(exact) == whole
        bound = 2.0 * q**2 / sigma**2
        assert special.rdp_sampled_gaussian(q, sigma, exact * (1 - 1e-9)) < bound * exact
        assert special.rdp_sampled_gaussian(q, sigma, exact * (1 + 1e-9)) > bound * exact


def test_the_right_panel():
    orders, exact, bound = FIGURE1["right_panel"](100)
    applies = ~np.isnan(bound)
    assert applies.any()
    assert not applies.all()
    assert (exact[applies] < bound[applies]).all()
    assert exact[-1] > 2.0 * 0.01**2 * orders[-1] / 16.0  # beyond the crossing


# --- kinds of noise


PAGE = Path(__file__).parents[2] / "docs" / "noise.md"
NOISE = runpy.run_path(str(EXAMPLES / "noise_comparison.py"), run_name="figure")
NOISES = {noise.name: noise for noise in NOISE["NOISES"]}


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
    variance = NOISE["staircase_variance"]
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
        release = NOISE["Release"]("many", math.sqrt(variance), 256)
        return NOISE["epsilons"](NOISES[name], release, [1e-5])[0]

    assert epsilon("Gaussian", 16.0 + 1.0 / 12.0) < epsilon("Skellam", 16.0)
    assert epsilon("Skellam", 16.0) < epsilon("Gaussian", 16.0)


@pytest.mark.parametrize("noise", NOISE["NOISES"], ids=lambda noise: noise.name)
def test_the_page_says_what_one_and_sixteen_uses_cost(noise):
    rows = PAGE.read_text(encoding="utf-8").splitlines()
    row = next(line for line in rows if line.startswith(f"| {noise.name} |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")][2:6]
    found = [
        NOISE["_rounded_up"](value)
        for release in NOISE["RELEASES"][:2]
        for value in NOISE["epsilons"](noise, release, NOISE["DELTAS"])
    ]
    assert cells == found


def test_many_uses_depend_on_the_information_only():
    release = NOISE["Release"]("many", 100.0, 10_000)
    for name in ("Laplace", "logistic"):
        noise = NOISES[name]
        found = NOISE["epsilons"](noise, release, [1e-3])[0]
        limit = NOISE["Release"]("one", 1.0 / math.sqrt(noise.information), 1)
        exact = NOISE["epsilons"](NOISES["Gaussian"], limit, [1e-3])[0]
        assert found == pytest.approx(exact, rel=2e-2)


def test_which_is_better():
    one, several = NOISE["RELEASES"][0], NOISE["RELEASES"][2]
    names = ("Gaussian", "Laplace", "logistic")
    once = [NOISE["epsilons"](NOISES[n], one, [1e-5])[0] for n in names]
    often = [NOISE["epsilons"](NOISES[n], several, [1e-5])[0] for n in names]
    assert once[1] < once[2] < once[0]
    assert often[0] < often[2] < often[1]


# --- convergence of PNSGD


CONVERGENCE = runpy.run_path(str(EXAMPLES / "pnsgd_convergence.py"), run_name="figure")


def test_table_has_the_known_values():
    rows = CONVERGENCE["table"]()
    assert len(rows) == 14
    for what, ours, known in rows:
        assert ours == pytest.approx(known, abs=1e-3), what


def test_noise_curves_and_epochs():
    at = np.array([2.0, 4.0, 7.0])
    found = dict(CONVERGENCE["scales"](at))
    assert len(found) == 5
    assert all((np.diff(values) < 0).all() for values in found.values())
    assert found[r"shuffled, Laplace, $\eta=0.1$"][0] == pytest.approx(7.208, abs=1e-3)
    assert found[r"shuffled, Gaussian, $\eta=0.1$"][2] == pytest.approx(2.0954, abs=1e-4)
    assert found[r"online, Laplace, $\eta=0.01$"][1] == pytest.approx(5.42, abs=5e-3)
    last, composed = CONVERGENCE["epochs"]((1, 10, 300), 0.99, 20)
    assert last[0] == pytest.approx(composed[0])
    assert (last[1:] < composed[1:]).all()
    assert last[2] == pytest.approx(last[1], rel=0.05)


# --- drawn


DRAWN = [
    (FIGURE1, {}, ()),
    (NOISE, {"NOISES": NOISE["NOISES"][:1]}, (np.array([1e-2, 1e-4]),)),
    *slow((COMPOSITION, {"ORDERS": COMPOSITION["ORDERS"][::40]}, ((1, 8),))),
    *slow((CONVERGENCE, {}, (2.5,))),
]


@pytest.mark.parametrize(("program", "fewer", "arguments"), DRAWN)
def test_figures_are_drawn(tmp_path, monkeypatch, program, fewer, arguments):
    pytest.importorskip("matplotlib")
    for name, value in fewer.items():
        monkeypatch.setitem(program["draw"].__globals__, name, value)
    program["draw"](str(tmp_path / "figure.png"), *arguments)
    assert (tmp_path / "figure.png").stat().st_size > 10_000
