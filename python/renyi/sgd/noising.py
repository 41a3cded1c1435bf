"""The whole private step in one call: clip, sum, add noise."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt

from renyi._validation import real_of
from renyi.sgd._arrays import single_scale
from renyi.sgd._generator import generator_of
from renyi.sgd._kernel import Nonfinite
from renyi.sgd._rows import Arrays, rows_of, sum_dtype
from renyi.sgd._rule import Clipping, rule_of
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

    To an accountant this is ``Gaussian(noise_multiplier)`` on the records of the batch, whatever
    the adjacency, and that in the accountant's sampling scheme if the batch is a sample. Record it
    beforehand, or let `DPSGD` do so. Divide by a public number only: not by the rows of a Poisson
    batch.

    Parameters
    ----------
    grads, max_grad_norm, clipping, stability, dtype, out, threads, nonfinite
        As for `clip_and_sum`.
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
        If an argument is not as above. ``out`` is untouched then, or holds no sum without noise.

    Examples
    --------
    >>> import numpy as np
    >>> grads = np.random.default_rng(1).normal(size=(256, 1000))
    >>> noisy = noisy_clipped_sum(grads, 1.0, 2.0)
    >>> bool(1.8 < noisy.std() < 2.3)
    True
    """
    rows = rows_of(grads)
    multiplier = real_of(noise_multiplier, "noise_multiplier", "a number in [0, inf)")
    if not 0.0 <= multiplier < math.inf:
        raise ValueError(f"noise_multiplier must be a number in [0, inf), got {noise_multiplier!r}")
    bound = rule_of(clipping, max_grad_norm, stability, len(rows.arrays)).total
    scale = math.nextafter(multiplier * bound, math.inf) if multiplier else 0.0
    single_scale(scale, sum_dtype(rows, dtype))  # raises if out of range, before there is a sum
    source = generator_of(generator)
    clipped = clip_and_sum(
        grads,
        max_grad_norm,
        clipping=clipping,
        stability=stability,
        dtype=dtype,
        out=out,
        threads=threads,
        nonfinite=nonfinite,
    )
    for array in clipped.arrays:
        add_gaussian_noise(array, scale, generator=source, threads=threads)
    return clipped.sum
