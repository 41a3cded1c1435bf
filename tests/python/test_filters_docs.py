"""The page on filters: its example and its table."""

from __future__ import annotations

import doctest
import re
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
)
from renyi.mechanisms import Mechanism

PAGE = (Path(__file__).parents[2] / "docs" / "filters.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([A-Z].*?)` \| (\d.*?) \|$", PAGE, re.MULTILINE)
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


def test_there_are_rows() -> None:
    assert len(ROWS) == 6


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


def test_the_example() -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    example = doctest.DocTestParser().get_doctest(code, {}, "filters.md", "filters.md", 0)
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0
