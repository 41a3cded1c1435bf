"""Correlated noise: a matrix mechanism as a whole run, and a shorthand for the tree."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from renyi._adjacency import Adjacency
from renyi._validation import NON_NEGATIVE, integer_of, shortest
from renyi.mechanisms._noise import L2, Gaussian
from renyi.mechanisms.algebra import Composed, Equivalent, Mechanism, set_fields, set_numbers
from renyi.mechanisms.participation import (
    ONCE,
    CyclicPoisson,
    Participation,
    StrategyMatrix,
    participation_of,
)
from renyi.mechanisms.sampling import PoissonSampled


@dataclass(frozen=True, slots=True)
class MatrixMechanism(Equivalent):
    """A run with correlated noise: C g + z is released, a row of g the clipped sum of each step.

    The whole run is one Gaussian mechanism, of the noise multiplier over the sensitivity of C for
    the steps in which a record may take part, also where a sum depends on what was released before
    (Denisov and others 2022, arXiv 2202.08312). A run that ends early is covered, one that goes on
    past the steps of the strategy is not. It holds for "zero_out" and "replace_one" adjacency:
    adding a record might move others to other steps. Who takes part when must be enforced.

    Under `renyi.matrix.CyclicPoisson` with groups as many as bands, what a record moves in one of
    its steps shares no row with the others: the run is a `PoissonSampled` Gaussian for each cycle
    that is begun, of the noise multiplier over the largest norm of a column (Choquette-Choo and
    others 2023, arXiv 2306.08153, Theorems 4 and 5), for every adjacency: groups are drawn for each
    record by itself. With fewer groups only Monte Carlo estimates are known, and it is refused.

    Parameters
    ----------
    strategy : renyi.matrix.Strategy
        The matrix C.
    noise_multiplier : float
        Standard deviation of z over the clipping norm, in [0, inf]: not yet divided by a
        sensitivity.
    participation : renyi.matrix.Participation
        In which steps a record may take part; by default in one.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted, or no bound is known for both together.

    Examples
    --------
    >>> from renyi.matrix import BandedToeplitz, CyclicPoisson, MinSeparation
    >>> strategy = BandedToeplitz(2000, [1.0, 0.5])
    >>> run = MatrixMechanism(strategy, 4.0, MinSeparation(500))
    >>> print(run.describe().splitlines()[0])
    Matrix mechanism (BandedToeplitz, 2000 steps), multiplier 4, records in steps at least 500 apart
    >>> round(run.effective_noise_multiplier, 9)
    1.788854382
    >>> sampled = MatrixMechanism(strategy, 4.0, CyclicPoisson(0.01, 2))
    >>> round(sampled.effective_noise_multiplier, 9), sampled.released.parts[0][1]
    (3.577708764, 1000)
    """

    adjacencies = ("replace_one", "zero_out")
    assumption = (
        "matrix mechanism: normal, correlated by the stated strategy, standard deviation of z = "
        f"noise multiplier x {L2}"
    )

    strategy: StrategyMatrix
    noise_multiplier: float
    participation: Participation = ONCE
    sensitivity: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, StrategyMatrix):
            raise TypeError(f"strategy must be a renyi.matrix.Strategy, got {self.strategy!r}")
        scheme = participation_of(self.participation)
        set_numbers(self, noise_multiplier=NON_NEGATIVE)
        if isinstance(scheme, CyclicPoisson) and scheme.cycle_length < self.strategy.bands:
            raise ValueError(
                "participation must have a cycle_length of at least the bands of the strategy, "
                f"{self.strategy.bands}, got {scheme!r}: with a shorter one steps of a record "
                "share rows, and no bound is known of what sampling then hides"
            )
        set_fields(self, sensitivity=self.strategy.sensitivity(scheme))
        self.strategy.warn_of(scheme)

    @property
    def effective_noise_multiplier(self) -> float:
        """``noise_multiplier`` over the ``sensitivity``, rounded down.

        That of the run as one Gaussian mechanism; under `CyclicPoisson` of every sampled one.
        """
        return over(self.noise_multiplier, self.sensitivity)

    @property
    def released(self) -> Mechanism:
        """The mechanism it is accounted as: one Gaussian, or a sampled one for each cycle."""
        noise, scheme = Gaussian(self.effective_noise_multiplier), self.participation
        if not isinstance(scheme, CyclicPoisson):
            return noise
        cycles = -(-self.strategy.steps // scheme.cycle_length)
        return Composed((PoissonSampled(noise, scheme.sample_rate), cycles))

    def _headline(self) -> str:
        return (
            f"Matrix mechanism ({type(self.strategy).__name__}, {self.strategy.steps} steps), "
            f"multiplier {shortest(self.noise_multiplier)}, records {self.participation}"
        )

    @property
    def parts(self) -> tuple[tuple[Mechanism, int], ...]:
        """The mechanism it is accounted as."""
        return ((self.released, 1),)

    def check_adjacency(self, adjacency: Adjacency) -> None:
        """Raise `UnsupportedMechanismError` unless it holds for an adjacency.

        It does for every one where each record is put into a group by itself.
        """
        if not isinstance(self.participation, CyclicPoisson):
            Mechanism.check_adjacency(self, adjacency)  # a class with slots has no super()


def over(noise: float, sensitivity: float) -> float:
    """Return a quotient rounded down."""
    ratio = noise / sensitivity
    return math.nextafter(ratio, 0.0) if ratio > 0.0 and noise < math.inf else ratio


@dataclass(frozen=True, slots=True)
class TreeAggregation(Equivalent):
    """Releases all prefix sums of a stream from a binary tree with Gaussian noise at every node.

    Every record takes part in one step, which may be chosen by what was released before: the
    `MatrixMechanism` of a `renyi.matrix.Tree` and a single pass, which also takes other
    participation. A record enters at most `depth` nodes, hence the tree is one Gaussian mechanism,
    of the multiplier `effective_noise_multiplier`.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise of a node over the L2 sensitivity of a step, in [0, inf].
    steps : int
        Length of the stream, at least 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    Kairouz et al. 2021, arXiv 2103.00039 (DP-FTRL); Dwork, Naor, Pitassi, Rothblum 2010.

    Examples
    --------
    >>> TreeAggregation(8.0, 1000).depth
    10
    """

    summary = (
        "Tree aggregation of {steps} steps, depth {depth}, noise multiplier {noise_multiplier}"
    )
    adjacencies = ("replace_one", "zero_out")
    assumption = f"binary tree: normal at every node, standard deviation = noise multiplier x {L2}"

    noise_multiplier: float
    steps: int

    def __post_init__(self) -> None:
        set_numbers(self, noise_multiplier=NON_NEGATIVE)
        set_fields(self, steps=integer_of(self.steps, "steps", 1))

    @property
    def depth(self) -> int:
        """The largest number of nodes that one step enters: complete subtrees of 2^j steps."""
        return self.steps.bit_length()

    @property
    def effective_noise_multiplier(self) -> float:
        """``noise_multiplier / sqrt(depth)``, of the tree as one Gaussian mechanism, rounded down.

        Examples
        --------
        >>> round(TreeAggregation(8.0, 1000).effective_noise_multiplier, 6)
        2.529822
        """
        # The root with the margin of `renyi.matrix.Tree`, whose sensitivity this is.
        root = math.nextafter(math.sqrt(self.depth) * (1.0 + 20.0 * 2.0**-53), math.inf)
        return over(self.noise_multiplier, root)

    @property
    def released(self) -> Gaussian:
        """The mechanism it is accounted as."""
        return Gaussian(self.effective_noise_multiplier)
