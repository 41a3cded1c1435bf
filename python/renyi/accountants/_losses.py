"""From mechanisms to the privacy losses that the general engine composes."""

from __future__ import annotations

from collections.abc import Iterator

from renyi import pld
from renyi.mechanisms import Composed, Mechanism, PoissonSampled, PrivacyLoss

__all__ = ["leaves", "loss_of", "replace_one_loss_of", "step_loss"]


def leaves(mechanism: Mechanism) -> Iterator[tuple[Mechanism, int]]:
    """Yield the parts of a mechanism that are not compositions, with their counts."""
    if isinstance(mechanism, Composed):
        yield from mechanism.parts
    else:
        yield mechanism, 1


def loss_of(mechanism: Mechanism, remove: bool) -> pld.PrivacyLossDistribution | None:
    """Return the loss of a `PrivacyLoss` or a Poisson sample of one; None: Gaussian steps."""
    if isinstance(mechanism, PrivacyLoss):
        return mechanism.loss(remove)
    if isinstance(mechanism, PoissonSampled) and isinstance(mechanism.mechanism, PrivacyLoss):
        # The pair of `add` is (Q, (1-q) Q + q P) for the base pair (Q, P).
        base = mechanism.mechanism.loss(remove)
        if remove:
            return pld.poisson_sampled(base, mechanism.sample_rate, "remove")
        return pld.poisson_sampled(pld.Reversed(base), mechanism.sample_rate, "add")
    return None


def step_loss(rate: float, noise: float, remove: bool) -> pld.PrivacyLossDistribution:
    """Return the loss of one Poisson-sampled Gaussian step, add/remove."""
    if noise == 0.0:  # the record shows itself whenever it is in the sample
        revealing = pld.Discrete((rate, 1.0 - rate), (0.0, 1.0))
        return revealing if remove else pld.Reversed(revealing)
    if rate == 1.0:
        return pld.Gaussian(1.0 / noise)
    return pld.sampled_gaussian(rate, noise, "remove" if remove else "add")


def replace_one_loss_of(rate: float, noise: float) -> pld.PrivacyLossDistribution:
    """Return the loss of one Poisson-sampled Gaussian step when one record is replaced.

    The means move from -1 to 1; the pair is its own mirror image, so that one direction is enough.
    """
    if noise == 0.0:
        return pld.Discrete((rate, 0.0, 1.0 - rate), (0.0, rate, 1.0 - rate))
    if rate == 1.0:
        return pld.Gaussian(2.0 / noise)
    return pld.ReplaceOneSampledGaussian(rate, noise)
