"""The algebra of mechanisms: what all of them can do, and composition."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self, TypeVar

from renyi._validation import count_of

__all__ = ["Composed", "Mechanism"]

AnyMechanism = TypeVar("AnyMechanism", bound="Mechanism")


class Mechanism(ABC):
    """Base of all mechanisms: immutable values with ``m * k``, ``m + n`` and a JSON form."""

    __slots__ = ()
    __array_ufunc__: ClassVar[None] = None  # so that NumPy leaves ``np.int64(3) * m`` to us

    @abstractmethod
    def _headline(self) -> str:
        """Say in a line what is done; ends in "of" where the mechanisms of `_inner` follow."""

    def _inner(self) -> tuple[Mechanism, ...]:
        """Return the mechanisms that this one runs."""
        return ()

    def __mul__(self, count: int) -> Composed:
        return Composed((self, count))

    __rmul__ = __mul__

    def __add__(self, other: Mechanism) -> Composed:
        if not isinstance(other, Mechanism):
            return NotImplemented
        return Composed((self, 1), (other, 1))

    def __radd__(self, other: object) -> Mechanism:
        """``sum`` starts with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _repr_html_(self) -> str:
        """Return the tree of `describe` for notebooks."""
        return f"<pre>{html.escape(self.describe())}</pre>"

    def describe(self) -> str:
        """Return the tree of what was released, for reading.

        Examples
        --------
        >>> from renyi.mechanisms import Gaussian, PoissonSampled
        >>> print((PoissonSampled(Gaussian(1.1), 0.01) * 10_000).describe())
        10000 x
          Poisson sample, rate 0.01, of
            Gaussian noise, multiplier 1.1
        """
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield self._headline()
        for mechanism in self._inner():
            yield from (f"  {line}" for line in mechanism._lines())

    def to_dict(self) -> dict[str, Any]:
        """Return what strict JSON can hold: the type's name, then the fields; "inf" for infinity.

        Raises
        ------
        TypeError
            If a `PrivacyLoss` holds functions, or a class of the user's own.

        Examples
        --------
        >>> from renyi.mechanisms import Gaussian
        >>> Gaussian(1.1).to_dict()
        {'type': 'Gaussian', 'noise_multiplier': 1.1}
        """
        from renyi.mechanisms.json_form import encode

        return encode(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the mechanism that `to_dict` described.

        Raises
        ------
        TypeError, ValueError
            If the type is unknown or not of the class asked, a field missing or unknown, or a value
            not permitted.

        Examples
        --------
        >>> Mechanism.from_dict({"type": "Laplace", "noise_multiplier": 2.0})
        Laplace(noise_multiplier=2.0)
        """
        from renyi.mechanisms.json_form import decode

        return _of_class(cls, decode(data), "data")

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict` and the version of the format as strict JSON.

        Examples
        --------
        >>> from renyi.mechanisms import Gaussian
        >>> Gaussian(1.1).to_json()
        '{"version": 1, "type": "Gaussian", "noise_multiplier": 1.1}'
        """
        from renyi.mechanisms.json_form import dumps

        return dumps(self, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the mechanism that `to_json` wrote, equal in every digit.

        Raises
        ------
        TypeError, ValueError
            If the text is not strict JSON or of another version, and as `from_dict`.

        Examples
        --------
        >>> from renyi.mechanisms import Gaussian
        >>> Mechanism.from_json((Gaussian(0.1) * 3).to_json())
        Composed((Gaussian(noise_multiplier=0.1), 3))
        """
        from renyi.mechanisms.json_form import loads

        return _of_class(cls, loads(text), "text")


class Composed(Mechanism):
    """Several mechanisms on the same data, each used ``count`` times, possibly adaptively.

    Parameters
    ----------
    *parts : Mechanism or (Mechanism, int)
        The mechanisms, with their counts if not 1. Nested compositions are flattened, equal
        mechanisms merged and unused ones dropped; the order is kept and makes no difference to
        equality. No parts: nothing was released.

    Raises
    ------
    TypeError, ValueError
        If a part is not a mechanism or a count not an integer >= 0.

    Examples
    --------
    >>> from renyi.mechanisms import Gaussian
    >>> Composed(Gaussian(1.0), (Gaussian(2.0), 10))
    Composed((Gaussian(noise_multiplier=1.0), 1), (Gaussian(noise_multiplier=2.0), 10))
    >>> Gaussian(1.0) * 3 + Gaussian(1.0) == Gaussian(1.0) * 4
    True
    """

    __slots__ = ("_parts",)
    _parts: tuple[tuple[Mechanism, int], ...]

    def __init__(self, *parts: Mechanism | tuple[Mechanism, int]) -> None:
        merged: dict[Mechanism, int] = {}
        for part in parts:
            mechanism, count = _part_of(part)
            inner = mechanism.parts if isinstance(mechanism, Composed) else ((mechanism, 1),)
            for item, times in inner:
                if times * count:
                    merged[item] = merged.get(item, 0) + times * count
        object.__setattr__(self, "_parts", tuple(merged.items()))

    @property
    def parts(self) -> tuple[tuple[Mechanism, int], ...]:
        """The distinct mechanisms with their counts."""
        return self._parts

    def _headline(self) -> str:
        return "Composition of" if self._parts else "Nothing released"

    def _inner(self) -> tuple[Mechanism, ...]:
        return tuple(mechanism for mechanism, _ in self._parts)

    def _lines(self) -> Iterator[str]:
        if not self._parts:
            yield self._headline()
        for mechanism, count in self._parts:
            yield f"{count} x"
            yield from (f"  {line}" for line in mechanism._lines())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Composed is immutable: cannot assign {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Composed is immutable: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Composed):
            return NotImplemented
        return dict(self._parts) == dict(other._parts)

    def __hash__(self) -> int:
        return hash(frozenset(self._parts))

    def __repr__(self) -> str:
        return f"Composed({', '.join(f'({m!r}, {count})' for m, count in self._parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Composed, self._parts


def _part_of(part: Any) -> tuple[Mechanism, int]:
    mechanism, count = part if isinstance(part, tuple) and len(part) == 2 else (part, 1)
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"parts must be mechanisms or (mechanism, count) pairs, got {part!r}")
    return mechanism, count_of(count)


def _of_class(cls: type[AnyMechanism], mechanism: Mechanism, name: str) -> AnyMechanism:
    if not isinstance(mechanism, cls):
        raise ValueError(f"{name} must be of a {cls.__name__}, got {mechanism!r}")
    return mechanism
