"""Arrays of other libraries: the page on them, and that nothing is copied from a device unasked."""

from __future__ import annotations

import doctest
import warnings
from pathlib import Path

import numpy as np
import pytest

from renyi import Gaussian, PLDAccountant, RDPAccountant, special
from renyi.sgd import clip_and_sum

PAGE = Path(__file__).parents[2] / "docs" / "arrays.md"
ALPHA = np.array([1.5, 2.0, 8.0])


def test_the_page():
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    failed, attempted = doctest.testfile(str(PAGE), module_relative=False)
    assert attempted >= 12
    assert failed == 0


class OnDevice:
    """An array as JAX has them on a GPU: it hands out a copy to whoever asks."""

    dtype, shape, ndim = np.dtype(np.float64), (2,), 1

    def __dlpack_device__(self):
        return 2, 0

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("a hidden copy")


def test_accountants_refuse_what_is_on_a_device():
    for accountant in (PLDAccountant().compose(Gaussian(1.0)), RDPAccountant()):
        with pytest.raises(TypeError, match=r"delta must be in the memory .* \(2, 0\)"):
            accountant.get_epsilon(OnDevice())
        with pytest.raises(TypeError, match="epsilon must be in the memory"):
            accountant.get_delta(OnDevice())


def test_clipping_refuses_what_is_on_a_device():
    with pytest.raises(TypeError, match="must be in the memory of the processor"):
        clip_and_sum(OnDevice(), 1.0)


@pytest.mark.filterwarnings("ignore:__array_wrap__")  # that of PyTorch is of NumPy 1
@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_arrays_on_the_processor(library):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip(library)
    given = (module.asarray if library == "jax.numpy" else module.tensor)(ALPHA.astype(np.float32))
    found = np.asarray(special.log_a(0.01, 1.0, given))
    assert (found == special.log_a(0.01, 1.0, ALPHA)).all()
    accountant = PLDAccountant().compose(Gaussian(1.0))
    assert (accountant.get_delta(given) == accountant.get_delta(ALPHA)).all()


def test_a_device_without_memory():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="meta"):
        special.log_a(0.01, 1.0, torch.empty(3, device="meta"))
