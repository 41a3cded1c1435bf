"""Clipped gradients of functions, by NumPy, JAX and PyTorch: against the rows written out."""

import sys

import numpy as np
import pytest
from each import refused

from renyi.noise import SecureGenerator
from renyi.sgd import DPSGD, SGD, ClipGroups, Grid, TrainingPlan, clip_and_sum, clipped_grad

RNG = np.random.default_rng(3)
X = RNG.normal(size=(23, 4)).astype(np.float32)
Y = RNG.normal(size=23).astype(np.float32)
WEIGHTS = [RNG.normal(size=4).astype(np.float32), np.array([0.25], np.float32)]


def gradient(parameters, x, y):
    w, b = parameters
    error = w @ x + b - y
    return [error * x, error]


def loss(parameters, x, y):
    w, b = parameters
    return ((w @ x + b - y) ** 2).sum() / 2


def rows(x=X, y=Y):
    errors = (x @ WEIGHTS[0] + WEIGHTS[1] - y)[:, np.newaxis]
    return [errors * x, errors]


def made(library, *arguments, **settings):
    if library != "numpy":
        pytest.importorskip(library)
    function = gradient if library == "numpy" else loss
    return clipped_grad(function, *arguments, library=library, **settings)


every_library = pytest.mark.parametrize("library", ["numpy", "jax", "torch"])


@every_library
@pytest.mark.parametrize("chunk", [1, 5, 23, 64, None])
def test_the_sum_is_that_of_the_rows(library, chunk):
    """Of which one, without a number, counts nothing."""
    x, kept = X.copy(), np.arange(23) != 3
    x[3, 1] = np.inf
    found = made(library, 0.5, chunk=chunk)(WEIGHTS, x, Y)
    wanted = clip_and_sum(rows(X[kept], Y[kept]), 0.5)
    assert found.sensitivity == wanted.sensitivity
    assert (found.private.batch_size, found.private.nonfinite_count) == (23, 1)
    assert found.private.unclipped_count == wanted.private.unclipped_count
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(found.sum, wanted.sum, strict=True))


@every_library
def test_one_by_one_no_example_changes_the_gradient_of_another(library):
    clipped = made(library, 0.5, chunk=1)
    everyone, without = clipped(WEIGHTS, X, Y), clipped(WEIGHTS, X[1:], Y[1:])
    alone = clipped(WEIGHTS, X[:1], Y[:1])
    for a, b, c in zip(everyone.sum, without.sum, alone.sum, strict=True):
        assert np.array_equal(a - b, c)


@every_library
def test_one_array_and_no_list(library):
    def one(w, x, y):
        return (w @ x - y) * x if library == "numpy" else ((w @ x - y) ** 2) / 2

    if library != "numpy":
        pytest.importorskip(library)
    found = clipped_grad(one, 0.5, library=library, chunk=4)(WEIGHTS[0], X, Y)
    wanted = clip_and_sum((X @ WEIGHTS[0] - Y)[:, np.newaxis] * X, 0.5)
    assert found.sum.shape == (4,)
    assert np.allclose(found.sum, wanted.sum, atol=1e-5)


@every_library
def test_an_empty_batch_has_the_sum_zero(library):
    found = made(library, 0.5)(WEIGHTS, X[:0], Y[:0])
    assert [array.shape for array in found.sum] == [(4,), (1,)]
    assert not any(array.any() for array in found.sum)
    assert found.private.batch_size == 0


@every_library
def test_settings_are_those_of_clipping(library):
    groups = ClipGroups((0, 1), shares=(2.0, 1.0))
    for settings in (
        {"clipping": groups},
        {"clipping": "per_layer"},
        {"clipping": "automatic", "stability": 0.5},
        {"adjacency": "zero_out"},
    ):
        found = made(library, 9.0, **settings)(WEIGHTS, X, Y, max_grad_norm=0.5)
        wanted = clip_and_sum(rows(), 0.5, **settings)
        found.check_like(wanted.max_grad_norm, wanted.clipping, wanted.adjacency, None)
        assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(found.sum, wanted.sum, strict=True))
    assert made(library, 1.0, grid=Grid(2.0**-10))(WEIGHTS, X, Y).sum[0].dtype == np.int64


@every_library
def test_it_trains(library):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2000, 4)).astype(np.float32)
    y = (x @ [1.0, -1.0, 0.5, 2.0] + 0.5).astype(np.float32)
    plan = TrainingPlan(2000, 200, noise_multiplier=0.5, steps=30, max_grad_norm=2.0)
    weights = [np.zeros(4, np.float32), np.zeros(1, np.float32)]
    sampler = plan.sampler(generator=SecureGenerator(insecure_reproducible=2))
    optimizer = DPSGD(weights, plan, SGD(0.3), sampler=sampler)
    clipped = made(library, plan.max_grad_norm, chunk=128)
    for batch in sampler:
        optimizer.step(clipped(weights, x[batch], y[batch]))
    assert np.abs(np.append(*weights) - [1.0, -1.0, 0.5, 2.0, 0.5]).max() < 0.2


def test_jax_compiles_once_for_batches_of_any_size():
    pytest.importorskip("jax")
    traced = []

    def counted(parameters, x, y):
        traced.append(1)
        return loss(parameters, x, y)

    clipped = clipped_grad(counted, 0.5, library="jax", chunk=8)
    for count in (1, 3, 8, 9, 23):
        clipped(WEIGHTS, X[:count], Y[:count])
    assert len(traced) == 1


def test_parameters_may_be_of_the_library():
    torch = pytest.importorskip("torch")
    weights = [torch.nn.Parameter(torch.from_numpy(w.copy())) for w in WEIGHTS]
    found = made("torch", 0.5)(weights, torch.from_numpy(X), torch.from_numpy(Y))
    wanted = made("torch", 0.5)(WEIGHTS, X, Y)
    assert all(np.array_equal(a, b) for a, b in zip(found.sum, wanted.sum, strict=True))
    assert all(w.grad is None for w in weights)


def test_gradients_in_bfloat16_of_torch():
    torch = pytest.importorskip("torch")
    tensors = [torch.from_numpy(a).to(torch.bfloat16) for a in (WEIGHTS[0], X, Y)]

    def one(w, x, y):
        return ((w * x).sum() - y) ** 2 / 2

    found = clipped_grad(one, 0.5, library="torch")(*tensors)
    wanted = clip_and_sum((X @ WEIGHTS[0] - Y)[:, np.newaxis] * X, 0.5)
    assert np.allclose(found.sum, wanted.sum, atol=0.2)


REFUSED = {
    ValueError: [
        (lambda: clipped_grad(loss, 1.0, library="tensorflow"), "library must be one"),
        (lambda: clipped_grad(loss, 1.0, chunk=0), "chunk must be an integer >= 1"),
        (lambda: clipped_grad(loss, 1.0, nonfinite="ignore"), "nonfinite must be"),
        (
            lambda: clipped_grad(gradient, 1.0)(WEIGHTS, X, Y[:3]),
            "batch must have an entry for each example in every array",
        ),
        (
            lambda: clipped_grad(lambda w, x, y: [x, x], 1.0)(WEIGHTS, X, Y),
            "grads must be a list of arrays",
        ),
    ],
    TypeError: [
        (lambda: clipped_grad(gradient, 1.0)(WEIGHTS), "batch must be at least one"),
    ],
}
test_bad_arguments = refused(REFUSED)


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_a_library_is_imported_by_name_only(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    clipped_grad(gradient, 1.0)
    with pytest.raises(ImportError):
        clipped_grad(loss, 1.0, library=library)
