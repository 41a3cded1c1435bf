"""The whole private step in one call: clip, sum, add noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._validation import real_of
from renyi.sgd._arrays import noise_scale
from renyi.sgd._generator import generator_of
from renyi.sgd._kernel import Nonfinite, refuse_nonfinite
from renyi.sgd._rows import Arrays, rows_of, sum_dtype, sums_for
from renyi.sgd._rule import Clipping, rule_of
from renyi.sgd._threads import threads_of
from renyi.sgd.clipping import clip_and_sum
from renyi.sgd.noise import add_gaussian_noise

__all__ = ["noisy_clipped_sum"]


def noisy_clipped_sum(
    grads: Any,
    max_grad_norm: Any,
    noise_multiplier: float,
    *,
    clipping: Clipping = "flat",
    stability: float = 0.01,
    dtype: npt.DTypeLike | None = None,
    out: Arrays | None = None,
    generator: Any = None,
    threads: int | None = None,
    nonfinite: Nonfinite = "zero",
) -> Arrays:
    """Clip every row, sum, and add Gaussian noise.

    The sum is exact, a record moves it by no more than its clipping norm, and what is returned is
    the multiple of `noise_lattice` of the noise's deviation nearest to sum plus ideal noise. To an
    accountant this is ``Gaussian(noise_multiplier)`` on the records of the batch, whatever
    the adjacency, and that in the accountant's sampling scheme if the batch is a sample. Record it
    beforehand, or let `DPSGD` do so. Divide by a public number only: not by the rows of a Poisson
    batch.

    Parameters
    ----------
    grads, max_grad_norm, clipping, stability, out, threads, nonfinite
        As for `clip_and_sum`.
    dtype : dtype, optional
        Of the result, as for `clip_and_sum`. Sum and noise are in double precision, and the noisy
        sum is rounded for float32.
    noise_multiplier : float
        Standard deviation of the noise over the largest joint norm of a clipped row, in [0, inf).
    generator : SecureGenerator or numpy.random.Generator, optional
        As for `gaussian_noise`.

    Returns
    -------
    array or list of arrays
        As the gradients were given. Without rows it is noise alone.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above. ``out`` is untouched then. After an interruption it is zero,
        and never a sum without noise.

    Examples
    --------
    >>> import numpy as np
    >>> grads = np.random.default_rng(1).normal(size=(256, 1000))
    >>> noisy = noisy_clipped_sum(grads, 1.0, 2.0)
    >>> bool(1.8 < noisy.std() < 2.3)
    True
    """
    rows = rows_of(grads, bfloat16=True)
    multiplier = real_of(noise_multiplier, "noise_multiplier", "a number in [0, inf)")
    if not 0.0 <= multiplier < math.inf:
        raise ValueError(f"noise_multiplier must be a number in [0, inf), got {noise_multiplier!r}")
    bound = rule_of(clipping, max_grad_norm, stability, len(rows.arrays)).total
    scale = math.nextafter(multiplier * bound, math.inf) if multiplier else 0.0
    kind = sum_dtype(dtype, out)
    noise_scale(scale, kind)  # raises if out of range, before there is a sum
    source = generator_of(generator)
    refuse_nonfinite(rows, nonfinite, threads_of(threads, rows.nbytes))
    sums = sums_for(rows, kind, out)
    try:
        clipped = clip_and_sum(
            rows.like_given(rows.arrays),
            max_grad_norm,
            clipping=clipping,
            stability=stability,
            out=rows.like_given(sums) if kind == np.float64 else None,
            threads=threads,
        )
        for array, total in zip(sums, clipped.arrays, strict=True):
            add_gaussian_noise(total, scale, generator=source, threads=threads)
            if total is not array:
                array[...] = total
    except BaseException:
        for array in sums:
            array[...] = 0.0
        raise
    return rows.like_given(sums)
