"""Data sets that come with scikit-learn, as arrays."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Split", "bundled", "digits"]


class Split(NamedTuple):
    """Records to learn from, which the guarantee is about, and others to be judged by."""

    train: npt.NDArray[np.float32]
    train_labels: npt.NDArray[np.int64]
    test: npt.NDArray[np.float32]
    test_labels: npt.NDArray[np.int64]


def bundled(name: str) -> Any:
    """Return a data set by the name of its loader in `sklearn.datasets`."""
    try:
        return getattr(import_module("sklearn.datasets"), name)()
    except ImportError:
        raise ImportError(
            "this program needs scikit-learn, which is not installed: "
            "python -m pip install scikit-learn"
        ) from None


def digits(seed: int) -> Split:
    """Return 1,797 images of 8 x 8 pixels, every fifth held out.

    Pixels are scaled and shifted by constants that have nothing to do with the data.
    """
    loaded = bundled("load_digits")
    images = (loaded.data / 16.0 - 0.3).astype(np.float32)
    labels = loaded.target.astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(labels))
    held_out, used = order[: len(order) // 5], order[len(order) // 5 :]
    return Split(images[used], labels[used], images[held_out], labels[held_out])
