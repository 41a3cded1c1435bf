"""Published bounds of the Rényi-DP of the sampled Gaussian mechanism, paper by paper.

`published_bounds` evaluates all of them at one setting, beside the exact value, as Table 1 of
Mironov, Talwar and Zhang (arXiv 1908.10530) lists them; each states its sampling and neighbours,
and the condition that fails where it does not apply. Use the accountants for guarantees.

>>> for row in published_bounds(0.01, 4.0, 8):
...     print(f"{row.paper:40}{row.rdp:.3e}")
Abadi et al. 2016, leading term         5.051e-05
Bun et al. 2018                         3.250e-04
Wang et al. 2019, Theorem 9             1.227e-04
Wang et al. 2019, Theorem 27            1.042e-04
Zhu and Wang 2019, Theorem 5            4.453e-05
Mironov et al. 2019, Theorem 11         1.000e-04
Mironov et al. 2019, exact              2.590e-05
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from renyi import special
from renyi._adjacency import one_of
from renyi._engine import largest_order_of_bound
from renyi._rounding import above
from renyi._validation import BETWEEN, FINITE_POSITIVE, Range, number_in
from renyi.mechanisms import Gaussian
from renyi.theory.subsampling import fixed_size_rdp, poisson_rdp

__all__ = ["largest_order", "moments_leading_term", "published_bounds", "truncated_cdp_bound"]
__dir__ = __all__.copy

_ORDER = Range(1.0, 1e6, "(]")
POISSON, FIXED = ("poisson", "add_remove"), ("fixed_size", "replace_one")


def _closed_form(q: float, sigma: float, alpha: float) -> float:
    """Return `renyi.special.rdp_sampled_gaussian_bound`, or name the condition that fails."""
    _require_range(q, sigma)
    bound = float(special.rdp_sampled_gaussian_bound(q, sigma, alpha))
    if math.isnan(bound):
        raise ValueError(_violation(q, sigma, alpha))
    return bound


def largest_order(
    q: float, sigma: float, *, condition: Literal["both", "first", "second"] = "both"
) -> float:
    """Return the largest order for which the closed-form bound holds.

    Args:
        q: Sampling rate, in [0, 1/5].
        sigma: Noise multiplier, in [4, inf].
        condition ({"both", "first", "second"}): The conditions on the order to impose, of (c1) and
            (c2).

    Returns:
        The supremum of the permitted orders, rounded down (relative distance below 1e-11), so that
        `renyi.special.rdp_sampled_gaussian_bound` holds there; infinity where ``q`` is 0 or
        ``sigma`` is infinite.

    Raises:
        ValueError: If ``q`` or ``sigma`` is outside the range of the theorem.

    >>> round(largest_order(0.01, 4.0), 6)
    14.342886
    """
    _require_range(q, sigma)
    one_of(condition, "condition", ("both", "first", "second"))
    return largest_order_of_bound(q, sigma, condition)


def _require_range(q: float, sigma: float) -> None:
    if not 0.0 <= q <= 0.2:
        raise ValueError(f"q must be in [0, 0.2], got {q!r}")
    if not sigma >= 4.0:
        raise ValueError(f"sigma must be in [4, inf], got {sigma!r}")


def _violation(q: float, sigma: float, alpha: float) -> str:
    """Name the violated condition; the numbers are for the reader, the engine has decided."""
    # L = log(1 + 1/(q (alpha-1))), also where the quotient overflows
    ratio = math.log1p(q * (alpha - 1.0)) - math.log(q) - math.log(alpha - 1.0)
    first = sigma * sigma * ratio / 2.0 - 2.0 * math.log(sigma)
    if alpha > largest_order_of_bound(q, sigma, "first"):
        return f"alpha must be at most sigma^2 L/2 - 2 log(sigma) = {first:.9g} (c1), got {alpha!r}"
    numerator = sigma * sigma * ratio * ratio / 2.0 - math.log(5.0) - 2.0 * math.log(sigma)
    denominator = math.log1p(q * alpha + 1.0 / (alpha - 1.0)) + 0.5 / (sigma * sigma)
    return (
        "alpha must be at most (sigma^2 L^2/2 - log(5) - 2 log(sigma)) / (L + log(q alpha) + "
        f"1/(2 sigma^2)) = {numerator / denominator:.9g} (c2), got {alpha!r}"
    )


def moments_leading_term(q: float, sigma: float, alpha: float) -> float:
    """Return q^2 alpha / ((1-q) sigma^2), the leading term of the moments bound of 2016.

    The theorem has a remainder of O(q^3 alpha^3 / sigma^3) without a constant, so this term,
    rounded up, is no bound by itself: at q = 0.0457, sigma = 1, alpha = 4 it is 6 % below the exact
    value, within its conditions. From sigma = 2 on the tests find it 1.6 to 2 times the exact
    value.

    Args:
        q: Sampling rate of a Poisson sample, in (0, 1) and below 1/(16 sigma).
        sigma: Noise multiplier, at least 1.
        alpha: Whole order from 2 on, at most sigma^2 log(1/(q sigma)) + 1.

    Source: Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang 2016, arXiv 1607.00133, Lemma 3,
    at lambda = alpha - 1.

    >>> f"{moments_leading_term(0.01, 4.0, 8):.4e}"
    '5.0505e-05'
    """
    q, sigma, alpha = _setting(q, sigma, alpha)
    if not sigma >= 1.0:
        raise ValueError(f"sigma must be at least 1, got {sigma!r}")
    if not q * sigma < 1.0 / 16.0:
        raise ValueError(f"q must be below 1/(16 sigma) = {1 / (16 * sigma):.6g}, got {q!r}")
    if not alpha.is_integer():
        raise ValueError(f"alpha must be a whole number, got {alpha!r}")
    largest = sigma * sigma * math.log(1.0 / (q * sigma)) + 1.0
    if not alpha <= largest:
        raise ValueError(
            f"alpha must be at most sigma^2 log(1/(q sigma)) + 1 = {largest:.6g}, got {alpha!r}"
        )
    return above(q * q * alpha / ((1.0 - q) * sigma * sigma))


def truncated_cdp_bound(s: float, sigma: float, alpha: float) -> float:
    """Return 13 s^2 rho alpha, rho = 1/(2 sigma^2), from truncated concentrated DP.

    Args:
        s: Sampling rate of a sample of fixed size, a record replaced; in (0, 0.1].
        sigma: Noise over the sensitivity of replacing a record, at least sqrt(5), so that rho <=
            0.1.
        alpha: Order, above 1 and at most sigma^2 log(1/s) / 2.

    Returns:
        6.5 s^2 alpha / sigma^2, rounded up; some papers quote 6 in place of 6.5, with the same
        conditions.

    The condition log(1/s) >= 3 rho (2 + log2(1/rho)) of the theorem follows: its right side is at
    most 1.6 for rho up to 0.1, log(10) is 2.3.

    Source: Bun, Dwork, Rothblum, Steinke 2018, "Composable and Versatile Privacy via Truncated
    CDP", amplification by sampling.

    >>> f"{truncated_cdp_bound(0.01, 4.0, 8.0):.4e}"
    '3.2500e-04'
    """
    s, sigma, alpha = _setting(s, sigma, alpha)
    if not s <= 0.1:
        raise ValueError(f"s must be at most 0.1, got {s!r}")
    if not sigma * sigma >= 5.0 * (1.0 + 2.0**-50):
        raise ValueError(f"sigma must be at least sqrt(5), got {sigma!r}")
    largest = sigma * sigma * math.log(1.0 / s) / 2.0
    if not alpha <= largest * (1.0 - 2.0**-50):
        raise ValueError(
            f"alpha must be at most sigma^2 log(1/s) / 2 = {largest:.6g}, got {alpha!r}"
        )
    return above(6.5 * s * s * alpha / (sigma * sigma))


class PublishedBound(NamedTuple):
    """The bound of one paper at one setting.

    Attributes:
        paper: Name of the paper.
        sampling, adjacency: The setting of the bound; sigma is relative to the sensitivity of that
            adjacency.
        rdp: The bound, rounded up; None where a condition fails.
        condition: The condition that fails, or "".
    """

    paper: str
    sampling: str
    adjacency: str
    rdp: float | None
    condition: str


def published_bounds(q: float, sigma: float, alpha: float) -> tuple[PublishedBound, ...]:
    """Evaluate every published bound of the sampled Gaussian mechanism, and last the exact value.

    Args:
        q: Sampling rate, in (0, 1).
        sigma: Standard deviation of the noise over the sensitivity of each row's own adjacency.
        alpha: Order, in (1, 1e6].

    >>> [row.condition for row in published_bounds(0.01, 1.0, 2.0) if row.rdp is None]
    ['sigma must be at least sqrt(5), got 1.0', 'sigma must be in [4, inf], got 1.0']
    """
    q, sigma, alpha = _setting(q, sigma, alpha)
    added, replaced = Gaussian(sigma), Gaussian(2.0 * sigma)  # a replaced record counts twice

    def fixed_size(bound: Literal["general", "tight"]) -> Callable[..., Any]:
        return lambda *_: fixed_size_rdp(replaced, q, alpha, bound=bound)

    rows: tuple[tuple[str, tuple[str, str], Callable[..., Any]], ...] = (
        ("Abadi et al. 2016, leading term", POISSON, moments_leading_term),
        ("Bun et al. 2018", FIXED, truncated_cdp_bound),
        ("Wang et al. 2019, Theorem 9", FIXED, fixed_size("general")),
        ("Wang et al. 2019, Theorem 27", FIXED, fixed_size("tight")),
        (
            "Zhu and Wang 2019, Theorem 5",
            POISSON,
            lambda *_: poisson_rdp(added, q, alpha, bound="general"),
        ),
        ("Mironov et al. 2019, Theorem 11", POISSON, _closed_form),
        ("Mironov et al. 2019, exact", POISSON, special.rdp_sampled_gaussian_upper),
    )
    found = []
    for paper, holds_for, bound in rows:
        try:
            found.append(PublishedBound(paper, *holds_for, float(bound(q, sigma, alpha)), ""))
        except ValueError as failed:
            found.append(PublishedBound(paper, *holds_for, None, str(failed)))
    return tuple(found)


def _setting(q: float, sigma: float, alpha: float) -> tuple[float, float, float]:
    return (
        number_in(q, "q", BETWEEN),
        number_in(sigma, "sigma", FINITE_POSITIVE),
        number_in(alpha, "alpha", _ORDER),
    )
