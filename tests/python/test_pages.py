"""The numbers of the pages on filters, sampling and the comparison are what comes out."""

from __future__ import annotations

import itertools
import re
import runpy
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from renyi import (
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PrivacyFilter,
    PrivacyOdometer,
    RDPAccountant,
    ShuffledBatches,
)
from renyi.calibration import calibrate_noise_multiplier
from renyi.cli import main
from renyi.mechanisms import Mechanism
from renyi.theory.comparison import compare
from renyi.theory.moments import log_moment_constant

FOLDER = Path(__file__).parents[2] / "docs"
COMPARISON, SAMPLING, FILTERS = (
    (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    for name in ("comparison", "sampling", "filters")
)
CONSOLE = re.compile(r"```console\n\$ renyi (.*?)\n(.*?)```", re.DOTALL)
TABLES = [
    [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    for table in re.findall(r"(?:^\|.*\|$\n?)+", COMPARISON, re.MULTILINE)
]
ROWS = re.findall(r"^\| `([A-Z].*?)` \| (\d.*?) \|$", FILTERS, re.MULTILINE)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        pytest.param(*one, marks=[pytest.mark.slow] * ("--target" in one[0]))
        for one in CONSOLE.findall(COMPARISON) + CONSOLE.findall(SAMPLING)
    ],
)
def test_commands(capsys, command, output):
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out.startswith(output)


@pytest.mark.slow
def test_the_numbers_of_the_answer():
    script = FOLDER.parent / "examples" / "comparison_numbers.py"
    text, facts = " ".join(COMPARISON.split()), list(runpy.run_path(str(script))["facts"]())
    assert len(facts) == 15
    assert [fact for fact in facts if fact not in text] == []


def test_who_wins_among_routes_1_and_2():
    for sigma, q in itertools.product((0.6, 1.0, 4.0, 10.0), (0.001, 0.01, 0.1)):
        for epochs in (1, 10, 100):
            rows = compare(
                q, sigma, round(epochs / q), delta=1e-5, methods=["advanced", "full_batch"]
            )
            first = rows[0].epsilon < rows[1].epsilon
            if sigma <= 1.0 or q == 0.1:
                assert not first
            elif q == 0.001 or sigma == 10.0:
                assert first


def test_the_table_of_delta():
    table = TABLES[1]
    assert table[0][:4] == ["q", "k", "σ", "ε"]
    methods = [name.strip("`") for name in table[0][4:]]
    for row in table[2:]:
        q, k, sigma, epsilon = map(float, row[:4])
        found = compare(q, sigma, round(k / q), epsilon=epsilon, methods=methods)
        for one, cell in zip(found, row[4:], strict=True):
            assert one.delta <= float(cell) <= one.delta * 1.11


def test_the_table_of_constants():
    table = TABLES[2]
    for row in table[2:]:
        for c2, cell in zip(table[0][1:], row[1:], strict=True):
            found = log_moment_constant(float(row[0]), float(c2))
            assert found <= float(cell) <= found * 1.01


def test_everything_is_there():
    assert len(ROWS) == 6
    assert len(CONSOLE.findall(COMPARISON)) == 3
    assert len(TABLES) == 3
    assert (FOLDER / re.findall(r"!\[.*?\]\((.*?)\)", COMPARISON)[0]).stat().st_size < 100_000


def test_what_is_said_in_passing():
    target = {"target_epsilon": 3.0, "target_delta": 1e-6}
    noise = calibrate_noise_multiplier(sample_rate=0.01, steps=1000, **target)
    assert noise <= 0.8653 < noise + 1e-4
    poisson = PLDAccountant().compose(PoissonSampled(Gaussian(0.5), 0.001), 1000)
    shuffled = PLDAccountant(adjacency="zero_out").compose(ShuffledBatches(Gaussian(0.5), 1000))
    ratio = shuffled.get_delta_bounds(4.0)[0] / poisson.get_delta(4.0)
    assert 40_000 < ratio < 45_000


# --- what filters admit


KINDS = {"Gaussian": Gaussian, "Laplace": Laplace, "PoissonSampled": PoissonSampled}
EPSILON, DELTA = 1.0, 1e-6


def most(fits: Callable[[int], bool]) -> int:
    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def taken_along_the_way(budget: PrivacyFilter, mechanism: Mechanism, size: int) -> int:
    uses = 0
    while budget.fits(mechanism, size):
        budget.spend(mechanism, size)
        uses += size
    return uses


def read(mechanism: Mechanism, count: int) -> float:
    odometer = PrivacyOdometer(DELTA)
    odometer.spend(mechanism, count)
    return odometer.get_epsilon()


@pytest.mark.parametrize(("words", "numbers"), ROWS)
def test_what_is_admitted(words: str, numbers: str) -> None:
    mechanism = eval(words, KINDS)
    exact = most(lambda k: PLDAccountant().compose(mechanism, k).get_epsilon(DELTA) <= EPSILON)
    plan = most(lambda k: RDPAccountant().compose(mechanism, k).get_epsilon(DELTA) <= EPSILON)
    order = RDPAccountant().compose(mechanism, plan).get_epsilon_and_order(DELTA)[1]
    size = max(1, exact // 1000)
    found = [
        exact,
        plan,
        most(lambda k: PrivacyFilter(EPSILON, DELTA).fits(mechanism, k)),
        taken_along_the_way(PrivacyFilter(EPSILON, DELTA), mechanism, size),
        taken_along_the_way(PrivacyFilter(EPSILON, DELTA, order), mechanism, size),
        most(lambda k: read(mechanism, k) <= EPSILON),
    ]
    assert found == [int(number) for number in numbers.split(" | ")]
    assert max(found) == exact
