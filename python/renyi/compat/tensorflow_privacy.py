"""TensorFlow Privacy's functions for accounting of DP-SGD; it need not be installed.

>>> epsilon, order = compute_dp_sgd_privacy(60_000, 250, 1.3, 15, 1e-5)
>>> round(epsilon, 3)
0.942
"""

from __future__ import annotations

import enum
import math

from renyi._rounding import round_up
from renyi._validation import shortest
from renyi.accountants import PLDAccountant, RDPAccountant
from renyi.mechanisms import Gaussian, GroupSampled, Mechanism, PoissonSampled

__all__ = ["AccountantType", "compute_dp_sgd_privacy", "compute_dp_sgd_privacy_statement"]


class AccountantType(enum.Enum):
    """The accountant of a statement."""

    RDP = "rdp"
    PLD = "pld"


def compute_dp_sgd_privacy(
    n: int, batch_size: int, noise_multiplier: float, epochs: float, delta: float
) -> tuple[float, float]:
    """Return epsilon, rounded up, of DP-SGD on Poisson samples, and its Rényi order."""
    step = PoissonSampled(Gaussian(noise_multiplier), batch_size / n)
    return RDPAccountant().compose(step, _steps(n, batch_size, epochs)).get_epsilon_and_order(delta)


def compute_dp_sgd_privacy_statement(
    number_of_examples: int,
    batch_size: int,
    num_epochs: float,
    noise_multiplier: float,
    delta: float,
    used_microbatching: bool = True,
    max_examples_per_user: int | None = None,
    accountant_type: AccountantType = AccountantType.PLD,
) -> str:
    """Return a statement on DP-SGD, with epsilon rounded up.

    Args:
        number_of_examples, batch_size, num_epochs, noise_multiplier, delta: Settings of the run.
        used_microbatching: Whether the run used microbatches. Then a record moves the sum by two
            clipping norms, and the noise counts half.
        max_examples_per_user: The most examples of one user; without it there is no statement on
            users.
        accountant_type: The exact curve, which is the default here but not there, or Rényi
            divergences.

    >>> text = compute_dp_sgd_privacy_statement(10_000, 64, 5.0, 2.0, 1e-6, True, 2)
    >>> print(text.splitlines()[-2])
    users, on Poisson samples: epsilon = 2.532
    """
    noise = Gaussian(0.5 * noise_multiplier if used_microbatching else noise_multiplier)
    rate, passes = batch_size / number_of_examples, math.ceil(num_epochs)
    steps = _steps(number_of_examples, batch_size, num_epochs)

    def line(subject: str, mechanism: Mechanism, count: int) -> str:
        kind = PLDAccountant if accountant_type is AccountantType.PLD else RDPAccountant
        epsilon = kind().compose(mechanism, count).get_epsilon(delta)
        return f"{subject}: epsilon = {round_up(epsilon, 4)}"

    lines = [
        f"DP-SGD on {number_of_examples} examples, {batch_size} in a batch, {num_epochs:g} epochs, "
        f"noise multiplier {noise_multiplier:g}, {'with' if used_microbatching else 'without'} "
        "microbatching.",
        f"One record added or removed, delta = {shortest(delta)}, all checkpoints:",
        line("examples, each once an epoch in any order", noise, passes),
        line("examples, on Poisson samples", PoissonSampled(noise, rate), steps),
    ]
    if max_examples_per_user is not None:
        often = Gaussian(noise.noise_multiplier / max_examples_per_user)
        drawn = GroupSampled(noise, rate, max_examples_per_user)
        lines.append(line("users, each record once an epoch in any order", often, passes))
        lines.append(line("users, on Poisson samples", drawn, steps))
    lines.append("Poisson samples: each record is in each batch independently of all others.")
    return "\n".join(lines)


def _steps(records: int, batch_size: int, epochs: float) -> int:
    return math.ceil(epochs * records / batch_size * (1.0 - 2.0**-50))
