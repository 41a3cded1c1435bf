"""A backend of Flower's privacy accounting, by the exact curve.

``PrivacyAccountant(config)`` replaces Flower's ``RdpAccountant(config)``, with the same
configurations, events and answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from flwr.supercore.privacy_accounting import NeighboringRelation, PrivacySpent, SamplingMethod

from renyi._adjacency import Adjacency
from renyi.accountants import PLDAccountant
from renyi.compat._steps import StepCallback
from renyi.mechanisms import FixedSizeSampled, Gaussian, Mechanism, PoissonSampled

__all__ = ["PrivacyAccountant"]


class PrivacyAccountant:
    """Accounts for the rounds of a federation, each a release of noisy sums over clients.

    Args:
        config (flwr.supercore.privacy_accounting.PrivacyConfig): Population, sampling, neighbouring
            relation, delta and, if there is a budget, its epsilon, which `compose` keeps.
        charge, run: As for `StepCallback`.

    Where clients are replaced the sum moves by up to two clipping norms, which Flower's own
    accountant does not count.

    >>> from flwr.supercore.privacy_accounting import GaussianPrivacyEvent, PrivacyConfig
    >>> config = PrivacyConfig(
    ...     1e-5, 1000, NeighboringRelation.ADD_OR_REMOVE_ONE, SamplingMethod.POISSON
    ... )
    >>> accountant = PrivacyAccountant(config)
    >>> accountant.compose(GaussianPrivacyEvent(1.0, 10, 1000), 1000)
    >>> round(accountant.get_epsilon(1e-5), 4)
    1.8282
    """

    _ADJACENCY: ClassVar[dict[Any, Adjacency]] = {
        NeighboringRelation.ADD_OR_REMOVE_ONE: "add_remove",
        NeighboringRelation.REPLACE_ONE: "replace_one",
    }

    def __init__(
        self, config: Any, *, charge: Callable[..., object] | None = None, run: str | None = None
    ) -> None:
        self.config = config
        self.steps = StepCallback(
            epsilon=config.max_epsilon or float("inf"),
            delta=config.target_delta,
            accountant=PLDAccountant(adjacency=self._ADJACENCY[config.neighboring_relation]),
            charge=charge,
            run=run,
        )

    @property
    def num_releases(self) -> int:
        """The number of rounds."""
        return len(self.steps)

    def compose(self, event: Any, count: int = 1) -> None:
        """Record rounds before they are released, or raise `BudgetExceededError`."""
        self.steps.compose(self._mechanism(event), count)

    def get_epsilon(self, delta: float) -> float:
        """Return epsilon at a delta, rounded up."""
        return self.steps.get_epsilon(delta)

    def get_delta(self, epsilon: float) -> float:
        """Return delta at an epsilon, rounded up."""
        return self.steps.get_delta(epsilon)

    def get_privacy_spent(self, delta: float | None = None) -> Any:
        """Return the spent budget in Flower's form."""
        return PrivacySpent(*self.steps.get_privacy_spent(delta), self.num_releases, "pld")

    def would_exceed(self, event: Any, max_epsilon: float | None = None, count: int = 1) -> bool:
        """Return whether ``count`` more rounds would exceed an epsilon, by default the budget's."""
        if max_epsilon is None:
            return self.steps.would_exceed(self._mechanism(event), count)
        after = self.steps.accountant.copy().compose(self._mechanism(event), count)
        return bool(after.get_epsilon(self.config.target_delta) > max_epsilon)

    def state_dict(self) -> dict[str, Any]:
        """Return the state as JSON can hold it."""
        return self.steps.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.steps.load_state_dict(state)

    def _mechanism(self, event: Any) -> Mechanism:
        noise = Gaussian(event.noise_multiplier)
        size, population = event.sample_size, event.population_size
        if population != self.config.population_size:
            raise ValueError(
                f"event must have the population {self.config.population_size}, got {population}"
            )
        if self.config.sampling_method == SamplingMethod.POISSON:
            return PoissonSampled(noise, size / population)
        if self.config.sampling_method == SamplingMethod.WITHOUT_REPLACEMENT:
            return FixedSizeSampled(noise, size, population)
        return noise
