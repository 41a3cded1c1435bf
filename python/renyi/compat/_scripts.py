"""Functions for scripts of TensorFlow Privacy and Opacus: divergences and their conversion."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from renyi.accountants import RDPAccountant
from renyi.mechanisms import Gaussian, PoissonSampled, RDPCurve

LARGEST_ORDER = 1e6


def compute_rdp(
    q: float, noise_multiplier: float, steps: int, orders: npt.ArrayLike
) -> float | npt.NDArray[np.float64]:
    """Return the Rényi divergences of a run of DP-SGD, rounded up.

    Args:
        q: Poisson sampling rate, in [0, 1].
        noise_multiplier: In [0, inf].
        steps: In [0, 10^9].
        orders: In [1, 1e6].

    Returns:
        float or ndarray of the shape of ``orders``.

    Raises:
        TypeError, ValueError: For arguments outside these ranges.

    >>> compute_rdp(q=0.01, noise_multiplier=1.0, steps=1000, orders=[2, 8, 32]).round(4)
    array([1.71800000e-01, 8.93600000e-01, 1.12462759e+04])
    """
    step = PoissonSampled(Gaussian(noise_multiplier), q)
    values = RDPAccountant().compose(step, steps).get_rdp(orders)
    return values if values.shape else float(values)


@overload
def get_privacy_spent(
    orders: npt.ArrayLike, rdp: npt.ArrayLike, target_eps: None = None,
    target_delta: None = None, *, delta: float,
) -> tuple[float, float]: ...  # fmt: skip
@overload
def get_privacy_spent(
    orders: npt.ArrayLike, rdp: npt.ArrayLike, target_eps: float | None = None,
    target_delta: float | None = None,
) -> tuple[float, float, float]: ...  # fmt: skip
def get_privacy_spent(
    orders: npt.ArrayLike,
    rdp: npt.ArrayLike,
    target_eps: float | None = None,
    target_delta: float | None = None,
    *,
    delta: float | None = None,
) -> tuple[float, ...]:
    """Return the guarantee of Rényi divergences, by the optimal conversion, rounded up.

    Args:
        orders, rdp: Distinct orders of at least 1, not 1 alone, and the divergence of each. The
            order 1 proves nothing for small delta and is not used, nor are orders above 1e6.
        target_eps, target_delta: The target, exactly one of them, as in TensorFlow Privacy.
        delta: The target instead of these, as in Opacus.

    Returns:
        Epsilon, delta and the best order, as in TensorFlow Privacy; for ``delta`` epsilon and the
        best order, as in Opacus.

    Raises:
        TypeError, ValueError: If not exactly one target is given, or a number is not permitted.

    >>> orders = [2, 4, 8, 16, 32]
    >>> epsilon, delta, order = get_privacy_spent(
    ...     orders, compute_rdp(0.01, 1.1, 1000, orders), target_delta=1e-5
    ... )
    >>> round(epsilon, 4), delta, order
    (1.7958, 1e-05, 8.0)
    """
    targets = [target_eps, target_delta, delta]
    if sum(target is not None for target in targets) != 1:
        raise ValueError(
            "exactly one of target_eps, target_delta and delta must be given, got "
            f"{targets[0]!r}, {targets[1]!r} and {targets[2]!r}"
        )
    accountant = _accountant_of(np.atleast_1d(orders), np.atleast_1d(rdp))
    if delta is not None:
        return accountant.get_epsilon_and_order(delta)
    if target_delta is not None:
        epsilon, order = accountant.get_epsilon_and_order(target_delta)
        return epsilon, target_delta, order
    assert target_eps is not None
    found, order = accountant.get_delta_and_order(target_eps)
    return target_eps, found, order


def _accountant_of(orders: npt.NDArray[Any], rdp: npt.NDArray[Any]) -> RDPAccountant:
    if orders.shape == rdp.shape and (orders > 1.0).any():
        kept = orders != 1.0
        orders, rdp = orders[kept], rdp[kept]
    curve = RDPCurve(orders.tolist(), rdp.tolist())
    used = [order for order in curve.orders if order <= LARGEST_ORDER]
    return RDPAccountant(orders=used).compose(curve)
