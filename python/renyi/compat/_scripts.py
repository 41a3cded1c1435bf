"""What scripts of TensorFlow Privacy and Opacus call: divergences, conversion, the statement."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from renyi._validation import float_above, integer_of, one_of
from renyi.accountants import PLDAccountant, RDPAccountant
from renyi.mechanisms import Gaussian, GaussianMixture, Mechanism, PoissonSampled, RDPCurve

__all__ = ["compute_dp_sgd_privacy_statement", "compute_rdp", "get_privacy_spent"]

LARGEST_ORDER = 1e6


def compute_rdp(
    q: float, noise_multiplier: float, steps: int, orders: npt.ArrayLike
) -> float | npt.NDArray[np.float64]:
    """Return the Rényi divergences of a run of DP-SGD, rounded up.

    Parameters
    ----------
    q : float
        Poisson sampling rate, in [0, 1].
    noise_multiplier : float
        In [0, inf].
    steps : int
        In [0, 10^9].
    orders : float or array_like of float
        In [1, 1e6].

    Returns
    -------
    float or ndarray of float64
        Of the shape of ``orders``.

    Raises
    ------
    TypeError, ValueError
        For arguments outside these ranges.

    Examples
    --------
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

    Parameters
    ----------
    orders, rdp : float or array_like of float
        Distinct orders above 1 and the divergence of each. Orders above 1e6 are not used.
    target_eps, target_delta : float, optional
        One of them, as in TensorFlow Privacy.
    delta : float, optional
        Instead, as in Opacus.

    Returns
    -------
    tuple of float
        As in TensorFlow Privacy epsilon, delta and the best order; for ``delta`` as in Opacus
        epsilon and the best order.

    Raises
    ------
    TypeError, ValueError
        If not exactly one target is given, or a number is not permitted.

    Examples
    --------
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
    curve = RDPCurve(orders.tolist(), rdp.tolist())
    used = [order for order in curve.orders if order <= LARGEST_ORDER]
    return RDPAccountant(orders=used).compose(curve)


# Those of dp_accounting, which TensorFlow Privacy uses.
ORDERS = (*(1 + x / 10 for x in range(1, 100)), *range(11, 64), 128, 256, 512, 1024)
ONCE = "Epsilon with each example occurring once per epoch:"
SAMPLED = "Epsilon assuming Poisson sampling (*):"
LINE = 65  # characters of a label and its number

CHECKPOINTS = "The guarantee is for the release of all checkpoints, and so for the last of them."
UNBOUNDED = "Without a bound on the examples of a user there is no guarantee for users."
POISSON = (
    "(*) Holds where every example enters every batch independently, with the same probability. "
    "For batches of shuffled data it is no guarantee: the epsilon above it is."
)
INFINITE = (
    "(**) The group property, by which a guarantee for an example becomes one for a user, has no "
    "finite bound here. Privacy loss distributions (PLD) have one."
)


def compute_dp_sgd_privacy_statement(
    number_of_examples: int,
    batch_size: int,
    num_epochs: float,
    noise_multiplier: float,
    delta: float,
    used_microbatching: bool = True,
    max_examples_per_user: int | None = None,
    accountant_type: Any = "RDP",
) -> str:
    r"""Return a statement of the guarantees of a run, for examples and for users.

    Parameters
    ----------
    number_of_examples, batch_size : int
        At least 1, the latter at most the former.
    num_epochs : float
        In (0, inf).
    noise_multiplier : float
        In [0, inf].
    delta : float
        In (0, 1).
    used_microbatching : bool
        Whether the mean of several examples was clipped: one that is added or removed moves it by
        up to twice the clipping norm.
    max_examples_per_user : int, optional
        At least 1.
    accountant_type : {"RDP", "PLD"}
        Or the enumeration of TensorFlow Privacy. "RDP" has its orders, conversion and group
        property; "PLD" is the exact curve.

    Returns
    -------
    str
        Numbers are rounded up, to three digits after the point.

    Raises
    ------
    TypeError, ValueError
        For arguments outside these ranges.

    References
    ----------
    Vadhan 2017, The Complexity of Differential Privacy, Lemma 2.2 (groups). Ganesh 2024,
    arXiv 2401.10294, Theorem 3.1 (the pair of a user).

    Examples
    --------
    >>> print(compute_dp_sgd_privacy_statement(10_000, 64, 5.0, 2.0, 1e-6).split("\n\n")[2])
    Example-level DP with add-or-remove-one adjacency at delta = 1e-06 computed with
    RDP accounting:
        Epsilon with each example occurring once per epoch:        13.377
        Epsilon assuming Poisson sampling (*):                      1.617
    """
    kind = one_of(getattr(accountant_type, "value", accountant_type), "accountant_type", KINDS)
    examples = integer_of(number_of_examples, "number_of_examples", 1)
    batch = integer_of(batch_size, "batch_size", 1)
    if batch > examples or not 0.0 < num_epochs < math.inf or not 0.0 < delta < 1.0:
        raise ValueError(
            "batch_size must be at most number_of_examples, num_epochs in (0, inf) and delta in "
            f"(0, 1), got {batch_size!r}, {num_epochs!r} and {delta!r}"
        )
    exact = Fraction(batch, examples)
    rate = float_above(exact)
    noise = noise_multiplier / 2.0 if used_microbatching else noise_multiplier
    once, steps = math.ceil(num_epochs), math.ceil(Fraction(num_epochs) / exact)

    def table(size: int) -> str:
        plain = _epsilon(kind, Gaussian(-float_above(-Fraction(noise) / size)), once, delta)
        return _lines(plain, KINDS[kind](noise, rate, steps, size, delta))

    users = _bound_of_users(max_examples_per_user)
    setting = (
        f"DP-SGD over {examples} examples, {batch} per iteration, noise multiplier "
        f"{noise_multiplier}, {num_epochs} epochs, "
        f"{'with' if used_microbatching else 'without'} microbatching, {users}."
    )
    level = f"DP with add-or-remove-one adjacency at delta = {delta}"
    paragraphs = [
        _wrapped(setting),
        _wrapped(CHECKPOINTS),
        _wrapped(f"Example-level {level} computed with {kind} accounting:") + "\n" + table(1),
        _wrapped(UNBOUNDED),
        _wrapped(POISSON),
    ]
    if max_examples_per_user is not None:
        heading = f"User-level {level} computed using {kind} accounting and group privacy:"
        paragraphs[3] = _wrapped(heading) + "\n" + table(max_examples_per_user)
        if "(**)" in paragraphs[3]:
            paragraphs.append(_wrapped(INFINITE))
    return "\n\n".join(paragraphs) + "\n"


def _bound_of_users(most: int | None) -> str:
    if most is None:
        return "no bound on the examples of a user"
    return f"at most {integer_of(most, 'max_examples_per_user', 1)} examples of a user"


def _epsilon(kind: str, step: Mechanism, steps: int, delta: float) -> float:
    if kind == "PLD":
        return PLDAccountant().compose(step, steps).get_epsilon(delta)
    return _moments().compose(step, steps).get_epsilon(delta)


def _moments() -> RDPAccountant:
    return RDPAccountant(orders=ORDERS, conversion="balle")


def _sampled_by_rdp(noise: float, rate: float, steps: int, size: int, delta: float) -> float:
    """Return epsilon of a user of k examples by the group property.

    Where an example has (epsilon, delta') the user has k epsilon and
    delta = delta' (e^(k epsilon) - 1)/(e^epsilon - 1).
    """
    step = PoissonSampled(Gaussian(noise), rate)
    if size == 1:
        return _epsilon("RDP", step, steps, delta)
    accountant = _moments().compose(step, steps)

    def fits(exponent: float) -> bool:
        epsilon = accountant.get_epsilon(10.0**exponent)
        if epsilon == 0.0:
            growth = math.log(size)
        else:
            growth = _log_expm1(size * epsilon) - _log_expm1(epsilon)
        return exponent * math.log(10.0) + growth <= math.log(delta)

    high = math.log10(delta)
    low = next((high - 1.0 - n for n in range(290) if fits(high - 1.0 - n)), None)
    if low is None:
        return math.inf
    high = min(high, low + 1.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    epsilon: float = accountant.get_epsilon(10.0**low)
    return size * epsilon


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x)) if x < math.inf else math.inf


def _sampled_by_pld(noise: float, rate: float, steps: int, size: int, delta: float) -> float:
    """Return epsilon of a user, whose number of drawn records is binomial."""
    if size == 1:
        return _epsilon("PLD", PoissonSampled(Gaussian(noise), rate), steps, delta)
    p = Fraction(rate)
    exact = [math.comb(size, j) * p**j * (1 - p) ** (size - j) for j in range(1, size + 1)]
    drawn = [float_above(weight) for weight in exact]  # up: moves further
    none = max(float(1 - sum(map(Fraction, drawn))), 0.0)
    return _epsilon("PLD", GaussianMixture(noise, range(size + 1), (none, *drawn)), steps, delta)


KINDS: dict[str, Callable[[float, float, int, int, float], float]] = {
    "RDP": _sampled_by_rdp,
    "PLD": _sampled_by_pld,
}


def _lines(once: float, sampled: float) -> str:
    return "\n".join(
        f"    {label}{_number(value):>{LINE - len(label)}}"
        for label, value in ((ONCE, once), (SAMPLED, sampled))
    )


def _number(epsilon: float) -> str:
    if epsilon == math.inf:
        return "inf (**)"
    return str(Decimal(epsilon).quantize(Decimal("0.001"), ROUND_CEILING))


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, 80)
