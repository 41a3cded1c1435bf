"""The table of the page on tuning."""

import re
from pathlib import Path

from each import each

from renyi import Gaussian, PLDAccountant, PoissonSampled, RDPAccountant, RepeatAndSelect

PAGE = Path(__file__).parents[2] / "docs" / "tasks" / "tuning.md"
ROWS = re.findall(r"^\| (\d.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_there_are_rows():
    assert len(ROWS) == 5


@each("row", ROWS)
def test_numbers_of_the_table(row):
    sigma, rate, steps, alone, tuned, renyi, factor = map(float, row.split(" | "))
    training = PoissonSampled(Gaussian(sigma), rate) * int(steps)
    best = RepeatAndSelect(training, 20, 1)
    exact = [PLDAccountant().compose(m).get_epsilon(1e-6) for m in (training, best)]
    found = [*exact, RDPAccountant().compose(best).get_epsilon(1e-6)]
    for value, printed in zip(found, (alone, tuned, renyi), strict=True):
        assert value <= printed <= value + 1.001e-3
    assert abs(found[2] / found[1] - factor) < 0.01
