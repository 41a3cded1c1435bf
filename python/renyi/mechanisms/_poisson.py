"""Poisson samples: every record enters by a coin of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from renyi._validation import integer_of, probability_of, shortest
from renyi.mechanisms._algebra import Mechanism
from renyi.mechanisms._arguments import set_fields
from renyi.mechanisms._gaussian import Gaussian
from renyi.mechanisms.nesting import Sampling, gaussian_of, of_random_size

__all__ = ["PoissonSampled", "TruncatedPoissonSampled"]


@dataclass(frozen=True, slots=True)
class PoissonSampled(Sampling):
    """Runs a mechanism on a Poisson sample: every record enters with probability ``sample_rate``.

    Several releases on one sample are ``PoissonSampled(a + b, q)``; two separate ``PoissonSampled``
    draw two samples. A sample of a sample is one of the product of the rates. Shuffled and
    fixed-size batches are not Poisson samples: `ShuffledBatches`, `FixedSizeSampled`.

    Parameters
    ----------
    mechanism : Mechanism
        What is done with the sample. Sampling for which the size of the data is public
        (`FixedSizeSampled`, `TruncatedPoissonSampled`, `ShuffledBatches`) cannot stand inside: the
        size of a Poisson sample is random and secret.
    sample_rate : float
        In [0, 1].

    Raises
    ------
    TypeError, ValueError
        If ``mechanism`` is not a mechanism or not permitted, or ``sample_rate`` outside [0, 1].

    Notes
    -----
    Where records are replaced the pair of `PLDAccountant` is exact for Gaussian noise, and for
    other noise one above both orders of the two records, as that of `FixedSizeSampled`.

    References
    ----------
    Mironov, Talwar, Zhang 2019, arXiv 1908.10530, Definition 3; Zhu, Wang 2019, ICML.

    Examples
    --------
    >>> PoissonSampled(Gaussian(1.1), 0.004)
    PoissonSampled(mechanism=Gaussian(noise_multiplier=1.1), sample_rate=0.004)
    """

    size_matters: ClassVar[bool] = False

    mechanism: Mechanism
    sample_rate: float

    def __post_init__(self) -> None:
        rate = probability_of(self.sample_rate, "sample_rate") + 0.0
        object.__setattr__(self, "sample_rate", rate)
        if type(self.mechanism) is not Gaussian:
            of_random_size(self.mechanism)

    def _headline(self) -> str:
        return f"Poisson sample, rate {shortest(self.sample_rate)}, of"


@dataclass(frozen=True, slots=True)
class TruncatedPoissonSampled(Sampling):
    """Runs Gaussian noise on a Poisson sample, cut to a uniform subset if it exceeds a limit.

    Whether a record that was sampled survives the cut depends on the others, and where the batch is
    full a record that is added takes the place of another.

    Parameters
    ----------
    mechanism : Gaussian
        What is done with the batch.
    sample_rate : float
        Of the Poisson sample, in [0, 1].
    batch_limit : int
        The largest batch, at least 1. A limit of ``population`` or more cuts nothing.
    population : int
        Number of records, at least 1; of the larger of both data sets where one has a record more.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Notes
    -----
    The upper ends of `PLDAccountant` are those of outputs that show which other records were drawn.
    No theorem is known that says by how much noise which hides them lowers the privacy loss.

    References
    ----------
    Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang 2024, arXiv 2411.04205.

    Examples
    --------
    >>> print(TruncatedPoissonSampled(Gaussian(1.0), 0.01, 120, 10_000).describe())
    Poisson sample of 10000, rate 0.01, at most 120 kept, of
      Gaussian noise, multiplier 1
    """

    mechanism: Gaussian
    sample_rate: float
    batch_limit: int
    population: int

    def __post_init__(self) -> None:
        gaussian_of(self.mechanism)
        set_fields(
            self,
            sample_rate=probability_of(self.sample_rate, "sample_rate") + 0.0,
            batch_limit=integer_of(self.batch_limit, "batch_limit", 1),
            population=integer_of(self.population, "population", 1),
        )

    def _headline(self) -> str:
        rate = shortest(self.sample_rate)
        start = f"Poisson sample of {self.population}, rate {rate}"
        return f"{start}, at most {self.batch_limit} kept, of"
