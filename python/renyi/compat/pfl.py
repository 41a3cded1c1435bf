"""An accountant for pfl-research: its dataclass, with exact and quick calibration.

``from renyi.compat.pfl import PLDPrivacyAccountant`` replaces pfl's import.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from pfl.privacy import PrivacyAccountant

from renyi.accountants import PLDAccountant
from renyi.calibration import calibrate
from renyi.mechanisms import Composed, Gaussian, Laplace, Mechanism, PoissonSampled

__all__ = ["PLDPrivacyAccountant"]


@dataclass
class PLDPrivacyAccountant(PrivacyAccountant):  # type: ignore[misc]  # pfl has no types for us
    """Computes the third of epsilon, delta and noise parameter, rounded to the safe side.

    The fields are those of pfl's accountants: ``num_compositions`` releases of noise of a
    ``mechanism``, "gaussian" or "laplace", each on a Poisson sample of the cohort. If all three are
    given the guarantee must hold. One record, or device, is added or removed.

    Raises:
        ValueError: If the three contradict each other, there is no such mechanism, or no noise
            within the bounds meets the target.

    >>> made = PLDPrivacyAccountant(1000, 0.01, "gaussian", epsilon=2.0, delta=1e-6)
    >>> round(made.cohort_noise_parameter, 4)
    1.029
    """

    epsilon: Any = None
    delta: Any = None
    noise_parameter: Any = None

    _NOISE: ClassVar[dict[str, Callable[[float], Mechanism]]] = {
        "gaussian": Gaussian,
        "laplace": Laplace,
    }

    def __post_init__(self) -> None:
        """Compute the missing number."""
        super().__post_init__()
        if self.mechanism not in self._NOISE:
            raise ValueError(f"mechanism must be 'gaussian' or 'laplace', got {self.mechanism!r}")
        if self.noise_parameter is None:
            self.noise_parameter = calibrate(
                self._run,
                (self.min_bound_noise_parameter or 1e-3, self.max_bound_noise_parameter),
                target_epsilon=self.epsilon,
                target_delta=self.delta,
            )
            return
        epsilon, delta = self.epsilon, self.delta
        spent = PLDAccountant().compose(self._run(self.noise_parameter))
        if delta is None:
            self.delta = spent.get_delta(epsilon)
        elif epsilon is None:
            self.epsilon = spent.get_epsilon(delta)
        elif (least := spent.get_delta(epsilon)) > delta:
            raise ValueError(
                f"noise_parameter must give delta {delta} at epsilon {epsilon}, got "
                f"{self.noise_parameter}, which gives {least}"
            )

    def _run(self, noise: float) -> Mechanism:
        released = self._NOISE[self.mechanism](noise)
        return Composed(
            (PoissonSampled(released, self.sampling_probability), self.num_compositions)
        )
