"""Canaries: records or gradients whose traces in a model are looked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._validation import integer_of, real_of
from renyi.sgd import SecureGenerator

__all__ = ["dirac_gradients", "draw_canaries", "mislabelled"]


def draw_canaries(
    count: int, generator: np.random.Generator | None = None
) -> npt.NDArray[np.bool_]:
    """Toss a fair coin for each canary: whether it is in the run.

    Parameters
    ----------
    count : int
        Of canaries, at least 1.
    generator : numpy.random.Generator, optional
        By default a new `renyi.sgd.SecureGenerator`.

    Returns
    -------
    array of bool, of shape (count,)
        To be kept from whoever makes the scores.

    Examples
    --------
    >>> draw_canaries(1000).shape
    (1000,)
    """
    number = integer_of(count, "count", 1)
    return np.asarray(_generator(generator).random(number) < 0.5)


def dirac_gradients(
    count: int,
    dimension: int,
    norm: float = 1.0,
    *,
    dtype: npt.DTypeLike = np.float64,
    generator: np.random.Generator | None = None,
) -> npt.NDArray[Any]:
    """Return gradients of canaries: each has one entry that is not 0, no two at the same place.

    Nothing of a model is as easy to look for: the score of a canary is its inner product with the
    sum of all updates, against the sense of the descent (Nasr et al. 2023, arXiv 2302.07956;
    Steinke, Nasr, Jagielski 2023, arXiv 2305.08846).

    Parameters
    ----------
    count, dimension : int
        Of canaries, and of all parameters: ``count <= dimension``.
    norm : float
        Of each; the clipping norm is the strongest.
    dtype : dtype
        Of floating-point numbers.
    generator : numpy.random.Generator, optional
        By default a new `renyi.sgd.SecureGenerator`.

    Returns
    -------
    array of shape (count, dimension)
        For a list of parameters, to be split like them.

    Examples
    --------
    >>> rows = dirac_gradients(3, 10, norm=0.5)
    >>> rows.sum(axis=1)
    array([0.5, 0.5, 0.5])
    """
    rows, entries = integer_of(count, "count", 1), integer_of(dimension, "dimension", 1)
    if rows > entries:
        raise ValueError(f"count must be an integer in [1, {entries}], got {count!r}")
    gradients = np.zeros((rows, entries), dtype=dtype)
    places = _generator(generator).choice(entries, rows, replace=False)
    gradients[np.arange(rows), places] = real_of(norm, "norm", "a number")
    return gradients


def mislabelled(
    labels: npt.ArrayLike, classes: int, generator: np.random.Generator | None = None
) -> npt.NDArray[np.int64]:
    """Return another label for each record, each of the others as likely.

    Who has learnt a record with its wrong label has seen it: the loss, with the sign changed, is
    the score.

    Parameters
    ----------
    labels : array_like of int
        In [0, classes).
    classes : int
        At least 2.
    generator : numpy.random.Generator, optional
        By default a new `renyi.sgd.SecureGenerator`.

    Examples
    --------
    >>> mislabelled([0, 1, 1], 2)
    array([1, 0, 0])
    """
    number, given = integer_of(classes, "classes", 2), np.asarray(labels)
    if given.dtype.kind not in "iu" or np.any((given < 0) | (given >= number)):
        raise ValueError(f"labels must be integers in [0, {number}), got {labels!r}")
    shift = _generator(generator).integers(1, number, given.shape)
    return np.asarray((given + shift) % number, dtype=np.int64)


def _generator(given: np.random.Generator | None) -> np.random.Generator:
    return SecureGenerator().numpy_generator() if given is None else given
