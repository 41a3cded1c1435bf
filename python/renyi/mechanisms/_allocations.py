"""Epochs in which every record takes part in a few steps, drawn at random: balls in bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from renyi._validation import integer_of
from renyi.mechanisms._algebra import Mechanism
from renyi.mechanisms._arguments import set_fields
from renyi.mechanisms.nesting import Sampling, of_random_size

__all__ = ["FixedAllocation", "RandomAllocation"]


@dataclass(frozen=True, slots=True)
class RandomAllocation(Sampling):
    """Runs a mechanism at each of several steps, every record in one of them, drawn uniformly.

    Also called balls in bins; with ``picks`` above 1, every record in a uniform subset of so many
    steps: balanced iteration, k of t. Records choose independently of each other; batches are
    random and secret, their number is public. Every use is an epoch for which all choose anew:
    where they keep their choice, `FixedAllocation`.

    Parameters
    ----------
    mechanism : Mechanism
        What is done with the records of a step. Sampling for which the size of the data is public
        cannot stand inside. Any other may: ``RandomAllocation(PoissonSampled(m, q), b)`` are b
        rounds of cyclic Poisson sampling, the group of a record secret.
    steps : int
        At least 1; up to 1,000,000 accountants take for all mechanisms, beyond for Gaussian noise.
    picks : int
        Steps that a record takes part in, in [1, steps].

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Notes
    -----
    For "add_remove" and "zero_out" adjacency and one pick the pair that dominates is known, and
    attained by Gaussian noise; of other noise `PLDAccountant` follows it to a relative width of
    about 0.001 in delta, 0.01 where that is small. For more picks it encloses with what the
    publication of a random split of the steps into as many blocks would cost, and with what an
    observer of a single statistic sees.
    Where records are replaced no largest pair is known, and the bracket reaches from removal to the
    removal of one record and the addition of another, or to all steps of a record published.

    References
    ----------
    Feldman, Shenfeld 2025, arXiv 2502.08202, and Chua et al. 2024, arXiv 2412.16802 (the pair that
    dominates, the split into blocks).

    Examples
    --------
    >>> from renyi.mechanisms import Gaussian
    >>> RandomAllocation(Gaussian(1.0), 100)
    RandomAllocation(mechanism=Gaussian(noise_multiplier=1.0), steps=100, picks=1)
    """

    size_matters: ClassVar[bool] = False

    mechanism: Mechanism
    steps: int
    picks: int = 1

    def __post_init__(self) -> None:
        of_random_size(self.mechanism)
        steps, picks = integer_of(self.steps, "steps", 1), integer_of(self.picks, "picks", 1)
        if picks > steps:
            raise ValueError(
                f"picks must be an integer in [1, {steps}], the steps, got {self.picks!r}"
            )
        set_fields(self, steps=steps, picks=picks)

    def _headline(self) -> str:
        one = "one" if self.picks == 1 else str(self.picks)
        return f"Random allocation of every record to {one} of {self.steps} steps, each"


@dataclass(frozen=True, slots=True)
class FixedAllocation(Sampling):
    """Runs epochs of steps, every record at the same, randomly drawn step of each epoch.

    Balls in bins that are drawn once: records are put into groups, uniformly and independently of
    each other, which have their turn one after the other. What is released of a record is one step
    of `RandomAllocation` in which the mechanism is used ``epochs`` times: far more than where
    records choose anew for every epoch. With a Poisson sample of the group as mechanism this is
    cyclic Poisson sampling whose groups are secret.

    Parameters
    ----------
    mechanism : Mechanism
        What is done with the records of a step, as for `RandomAllocation`.
    steps : int
        Of an epoch, at least 1: the number of groups.
    epochs : int
        How often each group has its turn, at least 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    Feldman, Shenfeld 2025, arXiv 2502.08202 (the pair of an epoch, for adaptive steps too).

    Examples
    --------
    >>> from renyi.mechanisms import Gaussian
    >>> print(FixedAllocation(Gaussian(1.0), 100, 10).describe())
    10 epochs of 100 steps, every record at one random step of each, the same in all
      Gaussian noise, multiplier 1
    """

    size_matters: ClassVar[bool] = False

    mechanism: Mechanism
    steps: int
    epochs: int

    def __post_init__(self) -> None:
        of_random_size(self.mechanism)
        set_fields(
            self,
            steps=integer_of(self.steps, "steps", 1),
            epochs=integer_of(self.epochs, "epochs", 1),
        )

    def _headline(self) -> str:
        return (
            f"{self.epochs} epochs of {self.steps} steps, every record at one random step of each, "
            "the same in all"
        )
