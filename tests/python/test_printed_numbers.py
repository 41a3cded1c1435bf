"""Printed numbers of a guarantee: rounded to the safe side, by one function in all."""

import ast
import math
import re
from decimal import Decimal
from pathlib import Path

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st

from renyi import _rounding
from renyi._rounding import round_double, round_down, round_up
from renyi._validation import decimal_of, shortest

PACKAGE = Path(_rounding.__file__).parent
NUMBERS = st.floats(allow_nan=False)
EDGES = [5e-324, 2.5e-310, 1e-300, 2.2250738585072014e-308, 9.9995, 9.9996, 37.62246, 0.1, 0.5]
EDGES += [9.9999e-4, 1e-3, 9999999.5, 1e7, 1.7976931348623157e308, 0.0, 99995.0, 3.2383e-7]


def check(value, digits):
    up, down = round_up(value, digits), round_down(value, digits)
    assert Decimal(down) <= Decimal(value) <= Decimal(up)
    if math.isfinite(value) and value:
        width = Decimal(1).scaleb(Decimal(value).adjusted() - digits + 1)
        assert Decimal(up) - Decimal(value) < width
        assert Decimal(value) - Decimal(down) < width
        for text in up, down:
            mantissa = text.partition("e")[0].replace(".", "").strip("-").lstrip("0")
            assert len(mantissa) == max(
                digits, len(mantissa) * ("." not in text and "e" not in text)
            )
    return up, down


@given(NUMBERS, st.integers(1, 17))
def test_what_is_printed_is_on_the_safe_side(value, digits):
    check(value, digits)


@each("value", EDGES)
@each("digits", [1, 2, 4, 6, 17])
def test_edges(value, digits):
    check(value, digits)
    check(-value, digits)


def test_what_is_infinite_or_zero_is_said_so():
    assert round_up(math.inf) == round_down(math.inf) == "inf"
    assert round_up(0.0) == round_up(-0.0) == round_down(0.0) == "0"
    assert round_up(37.62246) == "37.63"
    assert (round_up(9.9995), round_up(9.9996)) == ("10.00", "10.00")


@given(st.floats(1e-6, 1e6))
def test_doubles_that_print_alike_are_left_alone(value):
    text = round_double(value, 4, round_up)
    assert float(text) == value or Decimal(text) >= Decimal(value)


@given(NUMBERS)
def test_decimals_read_back(value):
    assert float(decimal_of(value)) == value
    assert "e-0" not in decimal_of(value)
    assert shortest(1e-5) == decimal_of(1e-5) == "1e-5"


PRIVATE = re.compile(
    r"epsilon|delta|\brho\b|\bmu\b|remaining|spent|\bleft\b|guarantee|failing|share"
)
LEFT_OUT = re.compile(r"\.\d+[gfe%]?$|^[gfe]$|[gfe]$")
ALONE = {"reference", "verify", "theory"}  # hands out no guarantees


def formatted(tree):
    """Yield the line and the source of numbers of a guarantee that are formatted otherwise."""
    for node in ast.walk(tree):
        spec, value = None, None
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            spec, value = ast.unparse(node.format_spec).strip("f'\""), node.value
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("format", "round"):
            spec, value = ".1f", node.args[0]
        elif isinstance(node, ast.BinOp) and isinstance(getattr(node.left, "value", None), str):
            spec, value = ".1f", node.right
        if spec and LEFT_OUT.search(spec) and PRIVATE.search(ast.unparse(value)):
            yield node.lineno, ast.unparse(value)


def test_no_other_place_leaves_digits_out():
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        if file.relative_to(PACKAGE).parts[0] in ALONE:
            continue
        found += [
            (str(file.relative_to(PACKAGE)), *one) for one in formatted(ast.parse(file.read_text()))
        ]
    assert found == []


@pytest.mark.parametrize(
    "source", ["f'{epsilon:.4g}'", "f'{self.remaining:.3f}'", "round(epsilon, 3)", "'%.3f' % delta"]
)
def test_the_search_finds_them(source):
    assert list(formatted(ast.parse(source)))
