"""The noise multiplier of a step that adds noise to a mean, for batches of random size.

The accountants count noise in units of what a record can change. For a sum of clipped rows that is
the clipping norm C, or 2C if the record is replaced. For means it depends on what is clipped:

* the mean itself, to norm C/2, as in "A Tail of Two Densities": any two batches, of any sizes, give
  results at most C apart, whatever records are added, removed or replaced;
* each row, to norm C, then divided by the true size of the batch: a record more changes the mean of
  n rows by |x - mean| / (n + 1) <= 2C / (n + 1), and 2C/(n + 1) <= C from one row on; of none,
  taken as 0, by C. So batches of random size count as C, as if the division were not there, unless
  the size has a lower bound that holds with certainty; Poisson samples have none. A replaced row
  moves the mean of n rows by 2C / n.

Where a record is replaced only samples of fixed size are accounted. A record that Poisson sampling
may or may not take leaves three means pairwise C apart, with the old record, the new one and none,
while the known pair for replaced records has the third halfway between the others.

A mean over the *expected* size is a sum divided by a constant, and so is its noise: `Gaussian` with
the multiplier of the sum. Multiplying the update by a learning rate but not the noise multiplies
what a record can change by the learning rate.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from renyi._validation import integer_of, one_of
from renyi.mechanisms._arguments import FINITE_POSITIVE, number_in

__all__ = ["mean_noise_multiplier"]


def mean_noise_multiplier(
    noise: float,
    clip_norm: float,
    *,
    clipped: Literal["mean", "rows"],
    adjacency: Literal["add_remove", "replace_one"] = "add_remove",
    learning_rate: float = 1.0,
    least_size: int = 0,
) -> float:
    """Return the multiplier by which a noisy mean over a batch of random size is accounted.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise added to the update, in (0, inf).
    clip_norm : float
        C, in (0, inf).
    clipped : {"mean", "rows"}
        "mean": the mean is clipped to norm C/2. "rows": each row is clipped to norm C, and their
        sum divided by the true number of rows; the mean of no row is 0.
    adjacency : {"add_remove", "replace_one"}
        Of the data sets.
    learning_rate : float
        By which the mean is multiplied before the noise is added, in (0, inf).
    least_size : int
        What no batch is smaller than, with certainty: 0 for Poisson samples, the size of samples of
        fixed size. At least 1 for "replace_one", for which the size has to be fixed.

    Returns
    -------
    float
        Noise over sensitivity, rounded down, in the units of the accountants: put it into
        `Gaussian`, with the sampling around it. For "replace_one", where `Gaussian` counts twice
        the sensitivity of adding a record, it is twice that ratio.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted; samples smaller than ``least_size`` are the caller's error.

    References
    ----------
    "A Tail of Two Densities" adds noise of deviation sigma C to a mean clipped to C/2 that it
    multiplies by the learning rate.

    Examples
    --------
    >>> mean_noise_multiplier(4.0, 2.0, clipped="mean")
    2.0
    >>> mean_noise_multiplier(4.0, 2.0, clipped="rows")
    2.0
    >>> mean_noise_multiplier(4.0, 2.0, clipped="rows", adjacency="replace_one", least_size=100)
    200.0
    """
    deviation = number_in(noise, "noise", FINITE_POSITIVE)
    norm = number_in(clip_norm, "clip_norm", FINITE_POSITIVE)
    one_of(clipped, "clipped", ("mean", "rows"))
    one_of(adjacency, "adjacency", ("add_remove", "replace_one"))
    rate = number_in(learning_rate, "learning_rate", FINITE_POSITIVE)
    size = integer_of(least_size, "least_size", 0)
    replaced = adjacency == "replace_one"
    if replaced and size == 0:
        raise ValueError(
            "least_size must be the fixed size of the samples where a record is replaced: with a "
            "random size no pair of distributions is known for a noisy mean, got 0"
        )
    share = Fraction(1)
    if clipped == "rows":
        share = Fraction(2, size) if replaced else Fraction(2, max(size + 1, 2))
    units = 2 if replaced else 1
    exact = units * Fraction(deviation) / (Fraction(norm) * Fraction(rate) * share)
    found = float(exact)
    return found if Fraction(found) <= exact else math.nextafter(found, 0.0)
