"""Clipping of linear layers against the gradients of each sample, made in full."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from renyi.sgd import LinearLayer, clip_and_sum, ghost_clip_and_sum, ghost_norms

RNG = np.random.default_rng(2)


def layer(count, times, inputs, outputs, kind=np.float64, bias=True):
    middle = () if times is None else (times,)
    return LinearLayer(
        RNG.standard_normal((count, *middle, inputs)).astype(kind),
        RNG.standard_normal((count, *middle, outputs)).astype(kind),
        bias,
    )


def in_full(layers):
    """Per-sample gradients, as a list of weights and biases."""
    arrays = []
    for given in layers:
        a, g = given.activations.astype(float), given.output_gradients.astype(float)
        if a.ndim == 2:
            a, g = a[:, np.newaxis], g[:, np.newaxis]
        arrays.append(np.einsum("bti,bto->bio", a, g))
        if given.bias:
            arrays.append(g.sum(axis=1))
    return arrays


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("times", [None, 1, 7, 150])
def test_the_same_as_in_full(kind, times):
    layers = [layer(23, times, 5, 4, kind), layer(23, None, 3, 6, kind, bias=False)]
    full = in_full(layers)
    norms = np.sqrt(sum((a * a).reshape(23, -1).sum(axis=1) for a in full))
    accuracy = 1e-12 if kind == np.float64 else 2e-6  # gradients that are made are in single
    assert_allclose(ghost_norms(layers), norms, rtol=accuracy)
    for dtype, rtol in ((np.float64, 2e-6), (np.float32, 2e-5)):
        # What a product of all samples rounds is taken from the norm.
        want = clip_and_sum(full, 2.0 * (1.0 - 2.0**-10))
        found = ghost_clip_and_sum(layers, 2.0, dtype=dtype)
        assert found.sensitivity == (2.0 if dtype == np.float64 else math.inf)
        assert [a.shape for a in found.sum] == [(5, 4), (4,), (3, 6)]
        assert_allclose(found.private.norms, norms, rtol=accuracy)
        for a, b in zip(found.sum, want.sum, strict=True):
            assert a.dtype == dtype
            assert_allclose(a, b, rtol=rtol, atol=rtol)


def exact_square(given, bound):
    """Of what one sample adds to the sum in the computer."""
    arrays = ghost_clip_and_sum([given], bound).sum
    return sum(Fraction(float(x)) ** 2 for array in arrays for x in array.ravel())


def test_norms_are_kept_exactly():
    for trial in range(60):
        given = layer(1, 1 + trial % 4, 1 + trial % 3, 1 + trial % 5, bias=trial % 2 == 0)
        scale = 10.0 ** RNG.uniform(-4, 4)
        kind = np.float32 if trial % 3 else np.float64
        given = LinearLayer(
            (given.activations * scale).astype(kind),
            given.output_gradients.astype(kind),
            given.bias,
        )
        norm = ghost_norms([given])[0]
        for bound in (norm, norm * (1 + 2e-16), norm / 3, 0.1, norm * 5):
            bound = float(np.clip(bound, 2.0**-96, 2.0**96))
            square = exact_square(given, bound)
            assert square <= Fraction(bound) ** 2
            if norm >= bound:
                assert square >= Fraction(bound) ** 2 * (1 - Fraction(1, 500))


def test_norms_of_long_rows_are_kept_exactly():
    given = layer(1, 1, 3000, 2, bias=True)
    norm = ghost_norms([given])[0]
    for bound in (norm, norm / 3):
        square = exact_square(given, bound)
        assert Fraction(bound) ** 2 * (1 - Fraction(1, 500)) <= square <= Fraction(bound) ** 2


def test_cancellation_does_not_lose_the_bound():
    """Two times that cancel but for rounding: inner products know the norm only roughly."""
    a = np.array([[[1.0, 3.0], [1.0, 3.0]]])
    for difference in (0.0, 1e-15, 1e-9):
        g = np.array([[[1.0, 7.0], [-1.0, -7.0 * (1 + difference)]]])
        assert exact_square(LinearLayer(a, g, bias=True), 1e-12) <= Fraction(1e-12) ** 2


def test_limits():
    empty = ghost_clip_and_sum([LinearLayer(np.empty((0, 3)), np.empty((0, 2)))], 1.0)
    assert [a.shape for a in empty.sum] == [(3, 2), (2,)]
    assert not empty.sum[0].any()
    silent = ghost_clip_and_sum([LinearLayer(np.zeros((4, 3)), np.zeros((4, 2)))], 1.0)
    assert silent.private.clipped_count == 0
    for scale in (1e-300, 1e-160, 1e160, 1e300):
        given = LinearLayer(np.array([[3.0 * scale, 4.0 * scale]]), np.array([[1.0]]), False)
        assert_allclose(ghost_norms([given]), 5.0 * scale, rtol=1e-14)
        out = ghost_clip_and_sum([given], 1e-3).sum[0].ravel()
        assert_allclose(out, [min(3 * scale, 6e-4), min(4 * scale, 8e-4)], rtol=1e-3, atol=4e-12)
    for a, g, norm in (
        ([5e-324, 5e-324], [2.0**1000], 2.0**-74 * math.sqrt(2.0)),
        ([1e308] * 4, [1e-300], 2e8),
        ([1e-200], [1e-200], 0.0),
    ):
        given = LinearLayer(np.array([a]), np.array([g]), False)
        assert_allclose(ghost_norms([given]), norm, rtol=1e-14)
    long = layer(2, 1500, 2, 3)
    full = in_full([long])
    assert_allclose(
        ghost_norms([long]), np.sqrt((full[0] ** 2).sum((1, 2)) + (full[1] ** 2).sum(1)), rtol=1e-10
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_samples_that_are_not_finite_contribute_zero(bad):
    given = layer(6, 3, 4, 2, np.float32)
    for array in (given.activations, given.output_gradients):
        array[2, 1, 1] = bad
    rest = LinearLayer(*(np.delete(a, 2, axis=0) for a in given[:2]))
    found, want = ghost_clip_and_sum([given], 1.0), ghost_clip_and_sum([rest], 1.0)
    for a, b in zip(found.sum, want.sum, strict=True):
        assert_allclose(a, b, rtol=1e-12)
    assert found.private.nonfinite_count == 1
    assert_array_equal(np.flatnonzero(np.isnan(found.private.norms)), [2])


def test_not_finite_beside_overflow():
    layers = [
        LinearLayer(np.array([[np.nan]]), np.ones((1, 1))),
        LinearLayer(np.array([[1e200]]), np.array([[1e200]])),
    ]
    for order in (layers, layers[::-1]):
        found = ghost_clip_and_sum(order, 1.0)
        assert found.private.nonfinite_count == 1
        assert not any(array.any() for array in found.sum)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], "layers must be a list of at least one"),
        (
            layer(2, None, 2, 2),
            "layers must be a list of layers, got one LinearLayer: put it in a list$",
        ),
        (np.ones((2, 2)), "layers must be a list of at least one layer, got ndarray"),
        ([layer(2, None, 2, 2), layer(3, None, 2, 2)], r"layers\[1\] must have as many samples"),
        ([(np.ones((2, 3)), np.ones((2, 4, 3)))], r"layers\[0\] must be of \(B, inputs\)"),
        ([(np.ones((2, 5, 3)), np.ones((2, 4, 3)))], r"layers\[0\] must be of \(B, inputs\)"),
    ],
)
def test_layers_are_checked(layers, message):
    with pytest.raises(ValueError, match=message):
        ghost_norms(layers)
    with pytest.raises(ValueError, match=message):
        ghost_clip_and_sum(layers, 1.0)


@pytest.mark.parametrize("bad", [np.full((4, 2), 7.125), (np.full((2, 2), 7.125),), object()])
def test_messages_about_layers_show_no_numbers(bad):
    with pytest.raises(TypeError, match=r"layers\[0\] must be a LinearLayer, .activ") as caught:
        ghost_norms([bad])
    assert "7.125" not in str(caught.value)


def test_a_layer_shows_shapes_and_no_numbers():
    shown = repr(layer(2, 7, 3, 4, np.float32, bias=False))
    assert shown == (
        "<LinearLayer: activations (2, 7, 3) float32, output gradients (2, 7, 4) float32, "
        "bias False>"
    )


def test_other_arguments_are_checked():
    good = [layer(2, None, 2, 2)]
    with pytest.raises(ValueError, match="max_grad_norm must be"):
        ghost_clip_and_sum(good, -1.0)
    with pytest.raises(TypeError, match="dtype must be"):
        ghost_clip_and_sum(good, 1.0, dtype=np.float16)
    with pytest.raises(TypeError, match=r"layers\[0\]\[0\] must be an array of float16"):
        ghost_norms([(np.ones((2, 2), int), np.ones((2, 2)))])


def test_neighbouring_sums_are_within_the_bound():
    """The sums in the computer, with all that was rounded; of samples that cancel over time too."""
    for times, spread in ((1, 1.0), (40, 1.0), (40, 1e9)):
        given = layer(64, times, 7, 5)
        given.activations[:, 1::2] = given.activations[:, :-1:2] * (1.0 + 1.0 / spread)
        given.output_gradients[:, 1::2] = -given.output_gradients[:, :-1:2]
        bound = 0.3
        whole = ghost_clip_and_sum([given], bound)
        for left_out in (0, 31):
            parts = (np.delete(array, left_out, axis=0) for array in given[:2])
            part = ghost_clip_and_sum([LinearLayer(*parts, given.bias)], bound)
            moved = [
                Fraction(float(x)) - Fraction(float(y))
                for a, b in zip(whole.sum, part.sum, strict=True)
                for x, y in zip(a.ravel(), b.ravel(), strict=True)
            ]
            assert sum(x * x for x in moved) <= Fraction(bound) ** 2
        product = whole.private.factors * np.sqrt(
            (given.activations**2).sum(2) * (given.output_gradients**2).sum(2)
        ).sum(1)
        assert (product <= 1024.0 * bound).all()
