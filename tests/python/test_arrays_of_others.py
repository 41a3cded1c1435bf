"""Arrays of other libraries: the page on them, and that nothing is copied from a device unasked."""

from __future__ import annotations

import doctest
import warnings
from pathlib import Path

import numpy as np
import pytest

from renyi import Gaussian, PLDAccountant, RDPAccountant, special
from renyi.noise import add_gaussian_noise
from renyi.sgd import clip_and_sum, per_sample_norms, weighted_sum

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
@pytest.mark.parametrize("library", ["numpy", "torch", "jax.numpy"])
def test_arrays_on_the_processor(library):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip(library)
    asarray = module.tensor if library == "torch" else module.asarray
    given, rows = asarray(ALPHA.astype(np.float32)), asarray(np.eye(3, 5, dtype=np.float32))
    result = module.Tensor if library == "torch" else np.ndarray
    for found, wanted in (
        (special.log_a(0.01, 1.0, given), special.log_a(0.01, 1.0, ALPHA)),
        (
            special.dp_sgd_epsilon_upper(0.01, given, 100, 1e-5),
            special.dp_sgd_epsilon_upper(0.01, ALPHA, 100, 1e-5),
        ),
    ):
        assert isinstance(found, result)
        assert np.asarray(found).dtype == np.float64
        assert (np.asarray(found) == wanted).all()
    for accountant in (PLDAccountant(), RDPAccountant(orders=given)):
        found = accountant.compose(Gaussian(1.0)).get_delta(given)
        assert type(found) is np.ndarray
        assert (found == accountant.get_delta(ALPHA)).all()
    for found in (clip_and_sum(rows, 0.5).sum, weighted_sum(rows, given), per_sample_norms(rows)):
        assert type(found) is np.ndarray
        assert found.dtype == np.float64
    assert (per_sample_norms(rows) == 1.0).all()
    assert (weighted_sum(rows, given) == [*ALPHA, 0.0, 0.0]).all()


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_noise_is_added_in_place(library):
    """To a tensor by the view that NumPy has of it; arrays that do not change are refused."""
    module = pytest.importorskip(library)
    given = module.zeros(1000)
    with pytest.raises(TypeError, match="array must be an array of float32 or float64"):
        add_gaussian_noise(given, 5.0)
    if library == "torch":
        add_gaussian_noise(given.numpy(), 5.0)
        assert 4.0 < given.std() < 6.0
    else:
        with pytest.raises(ValueError, match="read-only"):
            add_gaussian_noise(np.asarray(given), 5.0)


def test_a_device_without_memory():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="meta"):
        special.log_a(0.01, 1.0, torch.empty(3, device="meta"))
