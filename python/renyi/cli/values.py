"""Numbers on the command line: exact decimals, lists, ranges, and what each option permits."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from renyi._adjacency import LARGEST_COUNT

MAX_VALUES = 1_000_000


class UsageError(Exception):
    """Bad input; the message is one line and names the option."""


class OutputError(Exception):
    """What was computed could not be written; the message is one line."""


@dataclass(frozen=True)
class Domain:
    """The values an option takes, in words and as a test."""

    words: str
    contains: Callable[[Fraction], bool]
    whole: bool = False


PROBABILITY = Domain("strictly between 0 and 1", lambda x: 0 < x < 1)
PROBABILITY_OR_NONE = Domain(">= 0 and < 1", lambda x: 0 <= x < 1)
RATE = Domain("> 0 and <= 1", lambda x: 0 < x <= 1)
POSITIVE = Domain("> 0", lambda x: x > 0)
NOT_NEGATIVE = Domain(">= 0", lambda x: x >= 0)
ORDER = Domain("> 1 and <= 1e6", lambda x: 1 < x <= 10**6)
ORDER_FROM_ONE = Domain(">= 1 and <= 1e6", lambda x: 1 <= x <= 10**6)
COUNT = Domain("from 1 to 1e15", lambda x: 1 <= x <= 10**15, whole=True)
COUNT_FROM_ZERO = Domain("from 0 to 1e15", lambda x: 0 <= x <= 10**15, whole=True)
USES = Domain("from 1 to 1e9", lambda x: 1 <= x <= LARGEST_COUNT, whole=True)

# The engine names arguments; the user typed options.
_OPTION_OF_ARGUMENT = {
    "target_epsilon": "--epsilon",
    "target_delta": "--delta",
    "epsilon": "--epsilon",
    "delta": "--delta",
    "noise_multiplier": "--noise-multiplier",
    "sigma": "--noise-multiplier",
    "sample_rate": "--sample-rate",
    "q": "--sample-rate",
    "steps": "--steps",
    "count": "--steps",
    "orders": "--orders",
    "order": "--order",
    "alpha": "--order",
    "conversion": "--conversion",
    "adjacency": "--adjacency",
}


def as_options(message: str) -> str:
    """Put the option's name where an engine message starts with the argument's name.

    Examples
    --------
    >>> as_options("target_delta must be in (0, 1), got 2")
    '--delta must be in (0, 1), got 2'
    """
    line = " ".join(message.split())
    match = re.match(r"([a-z_]+) must ", line)
    option = _OPTION_OF_ARGUMENT.get(match.group(1)) if match else None
    return line if match is None or option is None else option + _words_typed(line[match.end(1) :])


def _words_typed(line: str) -> str:
    """Write names of neighbours and samplings as they are typed, without quotes."""
    line = re.sub(r"'(add_remove|replace_one|zero_out)'", r"\1", line)
    return re.sub(
        r"with sampling '([a-z_]+)'", lambda m: f"with --sampling {m[1].replace('_', '-')}", line
    )


def number(text: str, domain: Domain) -> Fraction:
    """Return the exact value of a decimal such as ``0.004`` or ``1e-5``."""
    try:
        value = Decimal(text.strip().replace("_", ""))
    except InvalidOperation:
        value = Decimal("nan")
    # The exponent's limit keeps 1e999999999 from filling the memory; doubles end long before.
    if not value.is_finite() or abs(value.adjusted()) > 320:
        raise argparse.ArgumentTypeError(f"must be {permitted(domain)}, got {text!r}")
    exact = Fraction(value)
    fits = domain.contains(exact) and domain.contains(Fraction(_as_float(exact, text, domain)))
    if not fits or (domain.whole and exact.denominator != 1):
        raise argparse.ArgumentTypeError(f"must be {permitted(domain)}, got {text!r}")
    return exact


def numbers(text: str, domain: Domain) -> list[Fraction]:
    """Parse a comma list of numbers and of ``start:stop:step`` ranges, all of them different.

    The stop is included when a step lands on it. Two decimals of one double would be equal rows.

    Examples
    --------
    >>> [float(x) for x in numbers("0.5,1:2:0.5", POSITIVE)]
    [0.5, 1.0, 1.5, 2.0]
    """
    values: list[Fraction] = []
    for part in text.split(","):
        ends = part.split(":")
        if len(ends) == 1:
            values.append(number(part, domain))
            continue
        if len(ends) != 3:
            raise argparse.ArgumentTypeError(f"a range is written start:stop:step, got {part!r}")
        start, stop = number(ends[0], domain), number(ends[1], domain)
        try:
            step = number(ends[2], POSITIVE)
        except argparse.ArgumentTypeError:
            raise argparse.ArgumentTypeError(
                f"the step of a range must be {permitted(POSITIVE)}, got {part!r}"
            ) from None
        if domain.whole and step.denominator != 1:
            raise argparse.ArgumentTypeError(
                f"the step of a range must be a whole number, got {part!r}"
            )
        if stop < start:
            raise argparse.ArgumentTypeError(f"a range must not end before it starts, got {part!r}")
        count = (stop - start) // step + 1
        if len(values) + count > MAX_VALUES:
            raise argparse.ArgumentTypeError(
                f"must give at most {MAX_VALUES:,} values, got {part!r}"
            )
        values.extend(start + k * step for k in range(count))
    doubles = Counter(map(float, values))
    if len(doubles) < len(values):
        (twice, _), *_ = doubles.most_common(1)
        raise argparse.ArgumentTypeError(
            f"must hold a number once, got {twice!r} twice in {text!r}"
        )
    return values


def numbers_in(domain: Domain) -> Callable[[str], list[Fraction]]:
    """``numbers`` for one domain, as an argparse type."""
    return lambda text: numbers(text, domain)


def number_in(domain: Domain) -> Callable[[str], Fraction]:
    """Make ``number`` for one domain, as an argparse type."""
    return lambda text: number(text, domain)


def permitted(domain: Domain) -> str:
    """Say what an option takes, as it follows "must be"."""
    return f"a {'whole ' if domain.whole else ''}number {domain.words}"


def _as_float(exact: Fraction, text: str, domain: Domain) -> float:
    try:
        return float(exact)
    except OverflowError:
        raise argparse.ArgumentTypeError(f"must be {permitted(domain)}, got {text!r}") from None
