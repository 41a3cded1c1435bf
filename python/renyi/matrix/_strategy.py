"""What all strategies have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from renyi._validation import one_of
from renyi.matrix._sensitivity import Sensitivity
from renyi.matrix._workloads import PREFIX_SUMS, Workload, workload_of
from renyi.mechanisms.json_form import decode_value, encode_value
from renyi.mechanisms.participation import (
    ONCE,
    CyclicPoisson,
    Participation,
    SinglePass,
    StrategyMatrix,
    participation_of,
)

if TYPE_CHECKING:
    from renyi.matrix._stream import NoiseStream

__all__ = ["MOST_DENSE", "Loss", "Strategy", "loss_of"]

Loss = Literal["mean", "max"]
Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

MOST_DENSE = 8192  # steps of a matrix that is written out


def loss_of(value: Any) -> Loss:
    """Return which loss is meant."""
    return one_of(value, "loss", get_args(Loss))


class Strategy(StrategyMatrix):
    """A lower triangular matrix C: what is released is C g + z, z independent noise.

    Then every step has its own sum g_t and the noise (C^-1 z)_t, and a linear query of the sums,
    a row of A = B C, has the error B z. Strategies are immutable values that compare equal.
    """

    __slots__ = ()
    streams: ClassVar[str]  # how a `NoiseStream` goes about it

    @abstractmethod
    def _sensitivity(self, participation: Participation) -> Sensitivity: ...

    @abstractmethod
    def errors(self, workload: Workload = PREFIX_SUMS) -> Vector:
        """Return the variance of each query at noise of variance 1: squared norms of rows of B."""

    @abstractmethod
    def matrix(self) -> Matrix:
        """Return C, with a column for each step."""

    def sensitivity(self, participation: Participation = ONCE) -> Sensitivity:
        """Return how far a record moves C g in units of its clipped contribution, rounded up.

        Under "zero_out" adjacency; replacing a record moves it twice as far. The result is a float
        that says whether it is ``exact`` or a bound. For `CyclicPoisson` it is that of one of the
        steps of a record, which then share no row.

        Raises
        ------
        ValueError
            If steps of a record may share a row where no bound of that is known.
        """
        known = participation_of(participation)
        return self._sensitivity(SinglePass() if isinstance(known, CyclicPoisson) else known)

    @property
    def column_norm(self) -> Sensitivity:
        """The largest norm of a column, rounded up: the sensitivity of a single pass."""
        return self.sensitivity()

    def loss(
        self,
        loss: Loss = "mean",
        participation: Participation = ONCE,
        workload: Workload = PREFIX_SUMS,
    ) -> float:
        """Return the deviation of the noise of queries at noise multiplier 1.

        Parameters
        ----------
        loss : {"mean", "max"}
            The root of the mean or of the largest variance, times `sensitivity`.
        participation : Participation
            What the noise is to be scaled for.
        workload : Workload
            The queries.
        """
        kind = loss_of(loss)
        errors = self.errors(workload_of(workload))
        variance = float(errors.mean() if kind == "mean" else errors.max())
        return math.sqrt(variance) * self.sensitivity(participation)

    def noise(
        self,
        shape: int | tuple[int, ...],
        generator: Any = None,
        *,
        scale: float = 1.0,
        dtype: npt.DTypeLike = np.float64,
        threads: int | None = None,
    ) -> NoiseStream:
        """Return the stream of C^-1 z for arrays of a shape; ``scale`` is the deviation of z.

        See `NoiseStream`.
        """
        from renyi.matrix._stream import NoiseStream

        return NoiseStream(self, shape, generator, scale=scale, dtype=dtype, threads=threads)

    def to_dict(self) -> dict[str, Any]:
        """Return what strict JSON can hold."""
        encoded: dict[str, Any] = encode_value(self)
        return encoded

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the strategy that `to_dict` described."""
        value = decode_value(data)
        if not isinstance(value, cls):
            raise ValueError(f"data must be of a {cls.__name__}, got {value!r}")
        return value

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict` and the version of the format as strict JSON."""
        from renyi import _strict_json

        return _strict_json.dumps(self.to_dict(), indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the strategy that `to_json` wrote, equal in every digit."""
        from renyi import _strict_json

        return cls.from_dict(_strict_json.check_version(_strict_json.loads(text)))

    def _written_out(self) -> None:
        if self.steps > MOST_DENSE:
            raise ValueError(
                f"steps must be at most {MOST_DENSE} for a matrix to be written out, "
                f"got {self.steps}"
            )
