"""Accountants for Opacus, registered as "renyi-rdp" and "renyi-pld" when this module is imported.

``PrivacyEngine(accountant="renyi-pld")`` then trains, saves checkpoints and resumes as with the
accountants of Opacus. The assumptions of Opacus stay: Poisson samples of rate 1/len(data_loader),
one record added or removed. The `PrivacyEngine` of this module refuses loaders of other samples.

>>> import opacus.accountants
>>> import renyi.compat.opacus
>>> accountant = opacus.accountants.create_accountant("renyi-pld")
>>> accountant.history = [(1.0, 0.01, 1000)]  # noise multiplier, sample rate, steps
>>> round(accountant.get_epsilon(1e-5), 4)
1.8282
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import opacus
from opacus.accountants import IAccountant, register_accountant
from opacus.utils.uniform_sampler import (
    DistributedUniformWithReplacementSampler,
    UniformWithReplacementSampler,
)
from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, SequentialSampler

from renyi.accountants import Accountant
from renyi.accountants import PLDAccountant as OwnPLDAccountant
from renyi.accountants import RDPAccountant as OwnRDPAccountant
from renyi.calibration import calibrate_noise_multiplier
from renyi.mechanisms import Composed, Gaussian, Mechanism, PoissonSampled

__all__ = [
    "PLDAccountant",
    "PrivacyEngine",
    "RenyiAccountant",
    "check_loader",
    "from_history",
    "get_noise_multiplier",
    "to_history",
]

History = list[tuple[float, float, int]]


def from_history(history: Iterable[tuple[float, float, int]]) -> Mechanism:
    """Return the mechanism of a history of Opacus: (noise multiplier, sample rate, steps) each.

    Raises:
        TypeError, ValueError: If an entry has parameters that no step can have.

    >>> from_history([(1.1, 0.01, 100)])
    Composed((PoissonSampled(mechanism=Gaussian(noise_multiplier=1.1), sample_rate=0.01), 100))
    """
    return Composed(*((PoissonSampled(Gaussian(noise), rate), n) for noise, rate, n in history))


def to_history(mechanism: Mechanism) -> History:
    """Return the history of Opacus that describes a mechanism.

    Raises:
        TypeError: If it is not Gaussian noise on all data or on Poisson samples.

    >>> to_history(PoissonSampled(Gaussian(1.1), 0.01) * 100)
    [(1.1, 0.01, 100)]
    """
    parts = mechanism.parts if isinstance(mechanism, Composed) else ((mechanism, 1),)
    history: History = []
    for part, count in parts:
        base, rate = part, 1.0
        if isinstance(part, PoissonSampled):
            base, rate = part.mechanism, part.sample_rate
        if not isinstance(base, Gaussian):
            raise TypeError(
                "mechanism must be of Gaussian noise on all data or on Poisson samples, got "
                f"{part!r}"
            )
        history.append((base.noise_multiplier, rate, count))
    return history


class _Plug(IAccountant):  # type: ignore[misc]  # Opacus has no types
    """Base of both accountants: the history of Opacus, with answers of this library."""

    charge: Callable[[Mechanism, int], object] | None = None
    """Called with the mechanism of a step and 1 before the step is recorded and taken.

    ``engine.accountant.charge = functools.partial(ledger.charge, "the data set")`` charges a
    `renyi.Ledger`, and ``.charge = steps.compose`` a `StepCallback`; an exception ends the training
    before the step. The function is not part of a checkpoint, and releases before a checkpoint are
    not charged again.
    """

    _MECHANISM: ClassVar[str]
    _OWN: ClassVar[type[OwnPLDAccountant] | type[OwnRDPAccountant]]

    def __init__(self) -> None:
        self.history: History = []

    @classmethod
    def mechanism(cls) -> str:
        """Return the name that the accountant is registered by."""
        return cls._MECHANISM

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one step.

        Raises:
            TypeError, ValueError: If no step can have such parameters. Errors of `charge` are
                raised, too.
        """
        step = PoissonSampled(Gaussian(noise_multiplier), sample_rate)
        if self.charge is not None:
            self.charge(step, 1)
        ((noise, rate, _),) = to_history(step)
        *before, (last_noise, last_rate, steps) = self.history or [(noise, rate, 0)]
        if (last_noise, last_rate) == (noise, rate):
            self.history = [*before, (noise, rate, steps + 1)]
        else:
            self.history = [*self.history, (noise, rate, 1)]

    def __len__(self) -> int:
        """Return the number of steps."""
        return sum(steps for _, _, steps in self.history)

    @property
    def accountant(self) -> Accountant[Any]:
        """A renyi accountant of the history, which answers more questions."""
        return self._OWN().compose(from_history(self.history))

    def get_epsilon(self, delta: float, *args: Any, **kwargs: Any) -> float:
        """Return epsilon, rounded up; the grid widths of Opacus are ignored."""
        return self.accountant.get_epsilon(delta)


class PLDAccountant(_Plug):
    """The exact privacy curve: "renyi-pld"."""

    _MECHANISM, _OWN = "renyi-pld", OwnPLDAccountant


class RenyiAccountant(_Plug):
    """Rényi differential privacy: "renyi-rdp".

    By default it uses all real orders and the optimal conversion, with ``alphas`` the orders and
    the conversion of Opacus.
    """

    _MECHANISM, _OWN = "renyi-rdp", OwnRDPAccountant

    def get_privacy_spent(
        self, *, delta: float, alphas: Iterable[float] | None = None
    ) -> tuple[float, float]:
        """Return epsilon, rounded up, and its order."""
        options: dict[str, Any] = {"orders": alphas, "conversion": "balle"}
        accountant = OwnRDPAccountant(**options) if alphas is not None else OwnRDPAccountant()
        accountant.compose(from_history(self.history))
        return accountant.get_epsilon_and_order(delta)

    def get_epsilon(
        self, delta: float, alphas: Iterable[float] | None = None, **kwargs: Any
    ) -> float:
        """Return epsilon, rounded up."""
        return self.get_privacy_spent(delta=delta, alphas=alphas)[0]


POISSON = (UniformWithReplacementSampler, DistributedUniformWithReplacementSampler)


def check_loader(data_loader: Any, poisson_sampling: bool = True) -> None:
    """Refuse a loader whose batches are not what the accountants of Opacus assume.

    Args:
        data_loader (torch.utils.data.DataLoader): With ``poisson_sampling`` a loader of all records
            in any order, each once: Opacus draws Poisson samples instead. Weights would be lost,
            and other numbers of records would change the sampling rate. Without
            ``poisson_sampling`` a loader of Poisson samples, of a rate of at most
            1/len(data_loader).
        poisson_sampling: As for ``PrivacyEngine.make_private``.

    Raises:
        ValueError: If the loader has other samples; the message names them.

    >>> import torch
    >>> data, weights = torch.zeros(6, 1), torch.ones(6)
    >>> check_loader(torch.utils.data.DataLoader(data, batch_size=2, shuffle=True))
    >>> sampler = torch.utils.data.WeightedRandomSampler(weights, 6)
    >>> try:
    ...     check_loader(torch.utils.data.DataLoader(data, batch_size=2, sampler=sampler))
    ... except ValueError as error:
    ...     print(str(error).rpartition(", ")[2])
    got WeightedRandomSampler
    """
    batches, sampler = data_loader.batch_sampler, data_loader.sampler
    drawn = sampler if type(batches) is BatchSampler else batches
    if type(drawn) in POISSON:
        fine = poisson_sampling or drawn.sample_rate * len(data_loader) <= 1.0 + 2.0**-50
    elif type(drawn) is RandomSampler:
        complete = not drawn.replacement and drawn.num_samples == len(data_loader.dataset)
        fine = poisson_sampling and complete
    else:
        fine = poisson_sampling and type(drawn) in (SequentialSampler, DistributedSampler)
    if not fine:
        allowed = "of all records, each once" if poisson_sampling else "of Poisson samples"
        how = f"{type(drawn).__name__}{'' if poisson_sampling else ' without poisson_sampling'}"
        raise ValueError(f"data_loader must be {allowed}, for that is accounted for, got {how}")


class PrivacyEngine(opacus.PrivacyEngine):  # type: ignore[misc]
    """The engine of Opacus with exact accounting; it calls `check_loader` first."""

    def __init__(self, *, accountant: str = "renyi-pld", secure_mode: bool = False) -> None:
        super().__init__(accountant=accountant, secure_mode=secure_mode)

    def make_private(
        self, *, data_loader: Any, poisson_sampling: bool = True, **options: Any
    ) -> Any:
        """Do the same as Opacus, also for ``make_private_with_epsilon``, for accepted loaders.

        Raises:
            ValueError: As `check_loader`. Errors of Opacus are raised, too.
        """
        check_loader(data_loader, poisson_sampling)
        return super().make_private(
            data_loader=data_loader, poisson_sampling=poisson_sampling, **options
        )


CALIBRATED_BY = {"renyi-pld": "pld", "prv": "pld", "renyi-rdp": "rdp", "rdp": "rdp"}


def get_noise_multiplier(
    *,
    target_epsilon: float,
    target_delta: float,
    sample_rate: float,
    epochs: float | None = None,
    steps: int | None = None,
    accountant: str = "renyi-pld",
    epsilon_tolerance: float = 0.01,
) -> float:
    """Return the smallest noise multiplier for a target, like Opacus' function of this name.

    Args:
        target_epsilon, target_delta, sample_rate: As for `renyi.calibrate_noise_multiplier`, which
            computes the answer.
        epochs, steps: The length, exactly one of them. An epoch is 1/sample_rate steps; the number
            of steps is rounded up.
        accountant ({"renyi-pld", "renyi-rdp", "prv", "rdp"}): The latter two stand for the former.
        epsilon_tolerance: Tolerance of Opacus' search, ignored. The answer here is within 1e-6 of
            the smallest, relatively.

    Raises:
        TypeError, ValueError: If not exactly one of ``epochs`` and ``steps`` is given, and as
            `renyi.calibrate_noise_multiplier`.

    >>> target = {"target_epsilon": 1.0, "target_delta": 1e-5}
    >>> round(get_noise_multiplier(**target, sample_rate=0.01, epochs=10), 4)
    1.4146
    """
    if accountant not in CALIBRATED_BY:
        raise ValueError(
            f"accountant must be one of {', '.join(map(repr, CALIBRATED_BY))}, got {accountant!r}"
        )
    if (epochs is None) == (steps is None):
        raise ValueError("either epochs or steps must be given, not both")
    if steps is None:
        assert epochs is not None
        # 1/sample_rate is usually an integer, which both divisions may have moved by an ulp.
        steps = math.ceil(epochs / sample_rate * (1.0 - 2.0**-50))
    return calibrate_noise_multiplier(
        target_epsilon=target_epsilon,
        target_delta=target_delta,
        sample_rate=sample_rate,
        steps=steps,
        accountant="pld" if CALIBRATED_BY[accountant] == "pld" else "rdp",
    )


for _kind in (PLDAccountant, RenyiAccountant):
    register_accountant(_kind.mechanism(), _kind, force=True)
