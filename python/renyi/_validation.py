"""Checks of arguments: every message names the argument, what is allowed and what was given.

Frozen fields are checked while they are set, too.
"""

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._adjacency import LARGEST_COUNT


def real_of(value: Any, name: str, allowed: str) -> float:
    """``value`` as a float: any real number, NumPy scalars and 0-d arrays among them; not NaN.

    Decimals, fractions and other objects with ``__float__`` become the nearest double, as a literal
    would: ``Decimal("1.1")`` is 1.1. Other numbers that round to 0 or infinity are refused: a
    sampling rate of 1e-400 is not 0.
    """
    if type(value) is not float:
        if not _is_real(value):
            raise TypeError(f"{name} must be {allowed}, got {value!r}")
        try:
            number = float(value)
        except OverflowError:
            raise ValueError(f"{name} must be {allowed}, got a number beyond doubles") from None
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must be {allowed}, got {value!r}") from error
        if (number == 0.0 or math.isinf(number)) and value != number:
            raise ValueError(f"{name} must be {allowed}, got {value!r}, which no double is near")
        value = number
    if math.isnan(value):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return float(value)


def _is_real(value: Any) -> bool:
    """Return whether a value is a real number, not a truth value, text or a complex number."""
    if isinstance(value, bool | str | bytes | bytearray) or getattr(value, "shape", ()) != ():
        return False
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "iufO"
    return isinstance(value, Real) or hasattr(value, "__float__")


@dataclass(frozen=True, slots=True)
class Range:
    """An interval of the extended real numbers, and the words for it."""

    low: float
    high: float
    ends: str = "[]"
    allowed: str = field(init=False)

    def __post_init__(self) -> None:
        interval = f"{self.ends[0]}{shortest(self.low)}, {shortest(self.high)}{self.ends[1]}"
        object.__setattr__(self, "allowed", f"a number in {interval}")

    def holds(self, number: float) -> bool:
        """Whether the number lies in the interval."""
        above = self.low < number or (number == self.low and self.ends[0] == "[")
        return above and (number < self.high or (number == self.high and self.ends[1] == "]"))


def shortest(number: float) -> str:
    """Return the shortest words for a number: 2 for 2.0, 2^40 for a large power of two."""
    mantissa, exponent = math.frexp(abs(number))
    if mantissa == 0.5 and abs(exponent - 1) >= 20:
        return f"{'-' * (number < 0.0)}2^{exponent - 1}"
    return decimal_of(number)


def decimal_of(number: float) -> str:
    """Return the shortest decimal that reads back as the same number.

    >>> decimal_of(2.0), decimal_of(1e-5), decimal_of(1e22), decimal_of(0.004)
    ('2', '1e-5', '1e22', '0.004')
    """
    mantissa, mark, exponent = repr(float(number)).removesuffix(".0").partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else mantissa


def visible(text: str) -> str:
    r"""Return untrusted text as one line that has no effect on a terminal.

    Control characters, ends of lines, marks that change the direction of writing or have no width,
    and lone surrogates of UTF-16 are replaced by escapes. HTML or Markdown need further escaping.

    >>> print(visible("ages\x1b[2J\nhead \u202eé"))
    ages\x1b[2J\nhead \u202eé
    """
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


FINITE = Range(-math.inf, math.inf, "()")
NON_NEGATIVE = Range(0.0, math.inf)
POSITIVE = Range(0.0, math.inf, "(]")
FINITE_POSITIVE = Range(0.0, math.inf, "()")
FINITE_NON_NEGATIVE = Range(0.0, math.inf, "[)")
PROBABILITY = Range(0.0, 1.0)
BELOW_ONE = Range(0.0, 1.0, "[)")
BETWEEN = Range(0.0, 1.0, "()")
RATE = Range(0.0, 1.0, "(]")


def number_in(value: Any, name: str, range_: Range) -> float:
    """Return a number in the range; zero loses its sign."""
    if type(value) is float and range_.low < value < range_.high:
        return value + 0.0
    number = real_of(value, name, range_.allowed)
    if not range_.holds(number):
        raise ValueError(f"{name} must be {range_.allowed}, got {value!r}")
    return number + 0.0


def numbers_in(values: Any, name: str, range_: Range) -> tuple[float, ...]:
    """Return an iterable of numbers of the range as a tuple."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise TypeError(f"{name} must be a sequence, each {range_.allowed}, got {values!r}")
    return tuple(number_in(value, name, range_) for value in values)


def probability_of(value: Any, name: str) -> float:
    """Return a number in [0, 1]."""
    return number_in(value, name, PROBABILITY)


def delta_of(value: Any, name: str = "delta") -> float:
    """Return a number in [0, 1]."""
    return number_in(value, name, PROBABILITY)


def epsilon_of(value: Any, name: str = "epsilon") -> float:
    """Return a number in [0, inf]."""
    return number_in(value, name, NON_NEGATIVE)


def check_one_missing(**given: float | None) -> None:
    """Raise unless exactly one of two or three numbers is missing: the one to compute."""
    if sum(value is None for value in given.values()) != 1:
        said = ", ".join(f"{name}={value!r}" for name, value in given.items())
        *most, last = given
        names = f"{'one' if len(given) == 2 else 'two'} of {', '.join(most)} and {last}"
        raise ValueError(f"exactly {names} must be given, got {said}")


def count_of(value: Any, name: str = "count") -> int:
    """Return an integer >= 0: Python's, NumPy's or a 0-d integer array."""
    return integer_of(value, name, 0)


def uses_of(value: Any, name: str = "count", least: int = 0, most: int = LARGEST_COUNT) -> int:
    """Return a number of uses that can be accounted for."""
    if type(value) is int and least <= value <= most:
        return value
    allowed = f"an integer in [{least}, {'10^9' if most == LARGEST_COUNT else shortest(most)}]"
    number = _whole(value)
    if number is None:
        raise TypeError(f"{name} must be {allowed}, got {value!r}")
    if least <= number <= most:
        return number
    raise ValueError(f"{name} must be {allowed}, got {_shown(number)}")


def _whole(value: Any) -> int | None:
    """Return an integer, or another real number that is whole, as an int; None for others."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        if not isinstance(value, Real | Decimal):
            return None
        try:
            whole = int(value)  # type: ignore[arg-type]  # Real has no __int__ of its own
        except (ValueError, OverflowError):  # not a number, infinity
            return None
        return whole if whole == value else None


def _shown(number: int) -> str:
    """Return the digits, or the number of bits: Python prints some thousand digits at most."""
    bits = number.bit_length()
    return f"{number}" if bits < 2048 else f"one of {bits} bits"


def integer_of(value: Any, name: str, least: int) -> int:
    """Return an integer >= ``least``."""
    number = _whole(value)
    if number is None:
        raise TypeError(f"{name} must be an integer >= {least}, got {value!r}")
    if number < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {_shown(number)}")
    return number


def numbers_of(
    values: Any, name: str, low: float, high: float, allowed: str
) -> tuple[npt.NDArray[np.float64], tuple[int, ...]]:
    """Return an array-like of real numbers in [low, high] as a flat array, and its shape."""
    if type(values) is float and low <= values <= high:
        return np.array([values]), ()
    given = array_of(values, name, allowed)
    if given.dtype.kind not in "iuf" and not (given.dtype.kind == "O" and given.size):
        raise TypeError(f"{name} must be {allowed}, got {values!r}")
    if given.dtype.kind == "O" or given.dtype.itemsize > 8:  # numbers that may lie beyond doubles
        flat = np.array([real_of(value, name, allowed) for value in given.flat])
    else:
        flat = np.ascontiguousarray(given, dtype=np.float64).reshape(-1)
    outside = ~((flat >= low) & (flat <= high))
    if outside.any():
        raise ValueError(f"{name} must be {allowed}, got {float(flat[outside][0])!r}")
    return flat, given.shape


def array_of(values: Any, name: str, allowed: str) -> npt.NDArray[Any]:
    """Return an array-like in the memory of the processor as an array of one shape."""
    check_array(values, name)
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be {allowed}, got sequences of unequal length") from None


ON_HOST = (1, 3)  # DLPack's devices: memory of the processor, and memory pinned for CUDA


def check_array(values: Any, name: str) -> None:
    """Raise TypeError for masked arrays and arrays on a device.

    NumPy would read what is masked as numbers, and might copy from a device silently.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} must be without a mask, got a masked array: give its filled()")
    device = getattr(values, "__dlpack_device__", None)
    if device is not None and not isinstance(values, np.ndarray) and device()[0] not in ON_HOST:
        raise TypeError(
            f"{name} must be in the memory of the processor, to which nothing is copied unasked, "
            f"got {type(values).__name__} on device {tuple(map(int, device()))}"
        )


def float_above(number: int | Fraction) -> float:
    """Return the smallest float that is at least a rational number, or raise `ValueError`."""
    try:
        value = float(number)
    except OverflowError:
        digits = int(number).bit_length()
        raise ValueError(f"count must be at most 1e308, got a number of {digits} bits") from None
    return value if value >= number else math.nextafter(value, math.inf)


def set_fields(frozen: object, **fields: object) -> None:
    """Set fields of a frozen value while it is made."""
    for name, value in fields.items():
        object.__setattr__(frozen, name, value)


def set_numbers(frozen: object, **ranges: Range) -> None:
    """Check that fields are numbers, each in its range, and set them."""
    for name, range_ in ranges.items():
        value = getattr(frozen, name)
        if not (type(value) is float and value and range_.low < value < range_.high):
            object.__setattr__(frozen, name, number_in(value, name, range_))


def set_integers(frozen: object, **least: int) -> None:
    """Check that fields are integers, each at least its bound, and set them."""
    for name, low in least.items():
        object.__setattr__(frozen, name, integer_of(getattr(frozen, name), name, low))
