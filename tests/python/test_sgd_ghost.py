"""Clipping by layers against the gradients of each sample, made in full."""

import math
import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from each import refusals
from ghost_reference import in_full
from numpy.testing import assert_allclose

import renyi.sgd.layers as work
from renyi.sgd import (
    DPSGD,
    SGD,
    BiasLayer,
    ClipGroups,
    ConvLayer,
    EmbeddingLayer,
    LinearLayer,
    LoRALayer,
    NormLayer,
    TrainingPlan,
    clip_and_sum,
    ghost_clip_and_sum,
)
from renyi.sgd.layers import works_of

RNG = np.random.default_rng(2)


def ghost_norms(layers, clipping="flat"):
    return ghost_clip_and_sum(layers, 1.0, clipping=clipping).private.norms


def layer(count, times, inputs, outputs, kind=np.float64, bias=True):
    middle = () if times is None else (times,)
    return LinearLayer(
        RNG.standard_normal((count, *middle, inputs)).astype(kind),
        RNG.standard_normal((count, *middle, outputs)).astype(kind),
        bias,
    )


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
        inputs = 1 + trial % 3 if trial else 3000
        given = layer(1, 1 + trial % 4, inputs, 1 + trial % 5, bias=trial % 2 == 0)
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


def test_not_finite_beside_overflow():
    layers = [
        LinearLayer(np.array([[np.nan]]), np.ones((1, 1))),
        LinearLayer(np.array([[1e200]]), np.array([[1e200]])),
    ]
    for order in (layers, layers[::-1]):
        found = ghost_clip_and_sum(order, 1.0)
        assert found.private.nonfinite_count == 1
        assert not any(array.any() for array in found.sum)


@pytest.mark.parametrize("bad", [np.full((4, 2), 7.125), (np.full((2, 2), 7.125),), object()])
def test_messages_about_layers_show_no_numbers(bad):
    with pytest.raises(TypeError, match=r"layers\[0\] must be a LinearLayer, .activ") as caught:
        ghost_norms([bad])
    assert "7.125" not in str(caught.value)


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


# --- layers of each kind


RNG_OF_LAYERS = np.random.default_rng(5)


def numbers(*shape, kind=np.float64):
    """Small integers: products and sums of them are exact."""
    return RNG_OF_LAYERS.integers(-4, 5, shape).astype(kind)


def strided(array):
    """The same numbers elsewhere in memory: backwards, with gaps, another axis first."""
    spread = np.empty((2 * array.shape[-1], *array.shape[:-1]), array.dtype)
    view = np.moveaxis(spread[::-2], 0, -1)
    view[...] = array
    return view


def layers_of(count, kind=np.float64, made=numbers):
    """One of each kind, of numbers exact enough for one another."""

    def some(*shape):
        return made(count, *shape, kind=kind)

    return {
        "linear": LinearLayer(some(5), some(3)),
        "linear in time": LinearLayer(some(4, 5), some(4, 3)),
        "linear, long": LinearLayer(some(60, 3), some(60, 2), bias=False),
        "conv1d": ConvLayer(some(4, 9), some(6, 5), 3, 2, 1, groups=2),
        "conv2d": ConvLayer(some(3, 6, 5), some(2, 4, 5), (3, 2), 1, (1, 1), (2, 2), bias=False),
        "conv2d, one place": ConvLayer(some(8, 3, 3), some(8, 1, 1), 3),
        "depthwise": ConvLayer(some(4, 5, 5), some(4, 2, 2), 3, 2, groups=4),
        "embedding": EmbeddingLayer(RNG_OF_LAYERS.integers(0, 7, (count, 6)), some(6, 3), 7),
        "one token": EmbeddingLayer(RNG_OF_LAYERS.integers(0, 7, count), some(3), 7),
        "gain": NormLayer(some(2, 3, 4), some(2, 3, 4), "none"),
        "bias": BiasLayer(some(3, 4)),
        "bias of channels": BiasLayer(some(3, 4, 2), axis=1),
        "adapter": LoRALayer(some(4, 5), some(4, 3), numbers(5, 2), numbers(2, 3), 0.5),
    }


KINDS = list(layers_of(1))


def floats(*shape, kind=np.float64):
    return RNG_OF_LAYERS.standard_normal(shape).astype(kind)


def exact(arrays):
    return [Fraction(float(x)) for array in arrays for x in array.ravel()]


def square_of(numbers):
    return sum(x * x for x in numbers)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("count", [1, 5])
def test_factors_are_exact(name, kind, count):
    """Norms of integers are square roots of integers: no rounding of the reference."""
    layer = layers_of(count, kind)[name]
    full = in_full([layer])
    squares = [sum(square_of(exact([rows[b]])) for rows in full) for b in range(count)]
    assert_allclose(ghost_norms([layer]), [math.sqrt(s) for s in squares], rtol=1e-13)
    for bound in (0.5, 7.0, 1e4):
        factors = ghost_clip_and_sum([layer], bound).private.factors
        for w, square in zip(factors, squares, strict=True):
            assert Fraction(w) ** 2 * square <= Fraction(bound) ** 2
            if square > Fraction(bound) ** 2:
                assert Fraction(w) ** 2 * square >= Fraction(bound) ** 2 * (1 - Fraction(1, 500))
            elif square < Fraction(bound) ** 2 * (1 - Fraction(1, 500)):
                assert w == 1.0


@pytest.mark.parametrize("name", KINDS)
def test_neighbouring_sums_are_within_the_bound_of_layers(name):
    """In the computer, whichever record it is and wherever the others move."""
    for scale in (1e-3, 1e3):
        layer = layers_of(7, np.float32, floats)[name]
        scaled = layer.output_gradients * np.float32(scale)
        layer = layer._replace(output_gradients=scaled)
        for clipping in ("flat", "per_layer"):
            whole = exact(ghost_clip_and_sum([layer], 0.3, clipping=clipping).sum)
            for left_out in (0, 3):
                parts = [without(layer, left_out), only(layer, left_out)]
                rest, alone = (
                    exact(ghost_clip_and_sum([p], 0.3, clipping=clipping).sum) for p in parts
                )
                moved = [x - y for x, y in zip(whole, rest, strict=True)]
                assert square_of(moved) <= Fraction(0.3) ** 2
                if not any(works_of([layer])[0].by_products):
                    assert moved == alone


def mapped(layer, function):
    fields = {
        name: function(value)
        for name, value in layer._asdict().items()
        if name in ("activations", "tokens", "output_gradients")
    }
    return layer._replace(**fields)


def without(layer, row):
    return mapped(layer, lambda array: np.delete(array, row, axis=0))


def only(layer, row):
    return mapped(layer, lambda array: array[row : row + 1])


@pytest.mark.parametrize("clipping", ["flat", "per_layer", "groups"])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_model_is_clipped_as_its_gradients_in_full(kind, clipping):
    for count in (0, 1, 4):
        layers = list(layers_of(count, kind).values())
        full = in_full(layers)
        how = ClipGroups([k % 2 for k in range(len(full))]) if clipping == "groups" else clipping
        found = ghost_clip_and_sum(layers, 9.0, clipping=how)
        want = clip_and_sum(full, 9.0, clipping=how)
        assert found.max_grad_norm == want.max_grad_norm
        assert found.private.norms.shape == want.private.norms.shape
        assert_allclose(found.private.norms, want.private.norms, rtol=1e-13)
        for a, b in zip(found.sum, want.sum, strict=True):
            assert a.shape == b.shape
            assert_allclose(a, b, rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("name", KINDS)
def test_strides_and_threads_change_no_bit_of_rows(name):
    layer = layers_of(6, np.float32, floats)[name]
    one = ghost_clip_and_sum([layer], 1.0, threads=1).sum
    for other, threads in ((mapped(layer, strided), 1), (layer, 3)):
        for a, b in zip(one, ghost_clip_and_sum([other], 1.0, threads=threads).sum, strict=True):
            assert_allclose(a, b, rtol=1e-12, atol=2e-9)
    layer.output_gradients.flags.writeable = False
    ghost_clip_and_sum([layer], 1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", KINDS)
def test_samples_that_are_not_finite_contribute_zero(name, bad):
    layer = layers_of(4, np.float32, floats)[name]
    beside = LinearLayer(floats(4, 2), floats(4, 2))
    for array in {**layer._asdict(), "tokens": None}.values():
        if isinstance(array, np.ndarray) and len(array) == 4:  # of samples
            array[(2,) + (0,) * (array.ndim - 1)] = bad
    for clipping in ("flat", "per_layer"):
        found = ghost_clip_and_sum([beside, layer], 1.0, clipping=clipping)
        want = ghost_clip_and_sum([without(beside, 2), without(layer, 2)], 1.0, clipping=clipping)
        assert found.private.nonfinite_count == 1
        for a, b in zip(found.sum, want.sum, strict=True):
            assert_allclose(a, b, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("product", [True, False])
def test_both_ways_give_the_same(monkeypatch, product):
    layers = [layers_of(5)[name] for name in ("linear in time", "linear, long", "conv2d")]
    layers[1:1] = [ConvLayer(numbers(5, 2, 6), numbers(5, 3, 4), 3)]
    monkeypatch.setattr(work, "product_is_cheaper", lambda *_: product)
    assert {w.by_products[0] for w in works_of(layers)} == {product}
    found = ghost_clip_and_sum(layers, 4.0)
    want = clip_and_sum(in_full(layers), 4.0)
    assert_allclose(found.private.norms, want.private.norms, rtol=1e-13)
    for a, b in zip(found.sum, want.sum, strict=True):
        assert_allclose(a, b, rtol=2e-3, atol=1e-5)


def test_the_cheaper_way_is_chosen():
    def chosen(times, rows, columns, kind=np.float32):
        return work.product_is_cheaper(times, rows, columns, np.dtype(kind))

    assert chosen(1, 1024, 1024)
    assert chosen(1, 1024, 1024, np.float64)
    assert chosen(8, 4096, 4096)
    assert not chosen(256, 512, 512)
    assert not chosen(256, 512, 512, np.float64)
    assert not chosen(1024, 576, 64)


@pytest.mark.parametrize("kind", ["layer", "rms", "group"])
def test_normalisations(kind):
    shape = (3, 6, 5) if kind == "group" else (3, 2, 4, 6)
    layer = NormLayer(floats(*shape), floats(*shape), kind, 1e-3, 2 if kind == "group" else 1)
    found, want = ghost_clip_and_sum([layer], 2.0), clip_and_sum(in_full([layer]), 2.0)
    for a, b in zip(found.sum, want.sum, strict=True):
        assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    single = mapped(layer, lambda array: array.astype(np.float32))
    assert_allclose(ghost_norms([single]), want.private.norms, rtol=1e-5)


def test_memory_is_bounded():
    layer = ConvLayer(floats(64, 8, 16, 16), floats(64, 8, 16, 16), 3, padding=1)
    ghost_clip_and_sum([layer], 1.0)
    tracemalloc.start()
    ghost_clip_and_sum([layer], 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 64 * 8 * 9 * 256 * 8 > 9e6  # patches of all
    assert peak < 6e6


def beside(part):
    """A sum like it, of other records."""
    return replace(part, _parts=None)


def test_parts_leave_no_more_rounding_than_there_is():
    layer = LinearLayer(np.ones((2**14, 1, 1)), np.ones((2**14, 1, 1)))
    long = LinearLayer(np.ones((1200, 8, 300)), np.ones((1200, 8, 300)), bias=False)
    assert ghost_clip_and_sum([layer], 1.0).rounding < 2.0**-20
    part = ghost_clip_and_sum([long], 1.0)
    assert 0.0 < part.rounding < 2.0**-11
    with pytest.raises(ValueError, match="sum must have fewer samples, or come in smaller parts"):
        sum(beside(part) for _ in range(400))
    plan = TrainingPlan(10**6, 1200 * 400, noise_multiplier=1.0, steps=1)
    optimizer = DPSGD([np.zeros((300, 300))], plan, SGD(0.1))
    most = int(2.0**-11 / part.rounding)
    for _ in range(most):
        optimizer.accumulate(beside(part))
    with pytest.raises(ValueError, match="per_sample_grads must have fewer samples"):
        optimizer.accumulate(part)
    rows = ghost_clip_and_sum([layers_of(5)["conv1d"]], 1.0)
    assert rows.rounding == 0.0


@pytest.mark.parametrize("clipping", ["flat", "per_layer"])
def test_the_optimiser_takes_such_sums(clipping):
    layers = [layers_of(5)[name] for name in ("conv1d", "embedding", "gain", "adapter")]
    sums = ghost_clip_and_sum(layers, 1.5, clipping=clipping)
    plan = TrainingPlan(100, 10, noise_multiplier=1e-3, steps=2, max_grad_norm=1.5)
    parameters = [np.zeros(array.shape) for array in sums.sum]
    noisy = DPSGD(parameters, plan, SGD(1.0), clipping=clipping).step(sums)
    for array, mean in zip(sums.sum, noisy, strict=True):
        assert_allclose(array / 10.0, mean, atol=2e-3)


def test_layers_show_shapes_and_no_numbers():
    assert repr(LINEAR) == (
        "<LinearLayer: activations (2, 2) float64, output gradients (2, 2) float64, bias True>"
    )
    for layer in layers_of(2, made=lambda *shape, kind: np.full(shape, 7.125, kind)).values():
        assert "7.125" not in repr(layer)
        assert type(layer).__name__ in repr(layer)


LINEAR, ONE = layer(2, None, 2, 2), "layers must be a list of"


REFUSED = {
    ValueError: [
        ([], f"{ONE} at least one"),
        (LINEAR, f"{ONE} layers, got one LinearLayer: put it in a list$"),
        (np.ones((2, 2)), f"{ONE} at least one layer, got ndarray"),
        ([LINEAR, layer(3, None, 2, 2)], r"layers\[1\] must have as many samples"),
        ([(np.ones((2, 3)), np.ones((2, 4, 3)))], r"layers\[0\] must be of \(B, inputs\)"),
        ([(np.ones((2, 5, 3)), np.ones((2, 4, 3)))], r"layers\[0\] must be of \(B, inputs\)"),
        ([ConvLayer(numbers(2, 3, 5), numbers(2, 4, 4), 3)], r"gradients of \(B, outputs, 3\)"),
        ([ConvLayer(numbers(2, 3, 5), numbers(2, 4, 3), (3, 3))], r"kernel_size must be an int"),
        ([ConvLayer(numbers(2, 3, 5), numbers(2, 4, 3), 3, groups=2)], "groups must divide the ch"),
        ([ConvLayer(numbers(2, 3), numbers(2, 4), 3)], r"must be of \(B, channels, length\)"),
        ([EmbeddingLayer(np.array([[7]]), numbers(1, 1, 2), 7)], r"tokens must be in \[0, 7\)"),
        ([EmbeddingLayer(np.array([[-1]]), numbers(1, 1, 2), 7)], r"tokens must be in \[0, 7\)"),
        ([EmbeddingLayer(np.array([[1, 2]]), numbers(1, 1, 2), 7)], "must be of tokens"),
        ([NormLayer(numbers(2, 3), numbers(2, 4))], "must be of arrays of one shape"),
        ([NormLayer(numbers(2, 3), numbers(2, 3), "batch")], r"layers\[0\].*kind must be"),
        ([NormLayer(numbers(2, 3, 4), numbers(2, 3, 4), "group", groups=2)], "must divide the fe"),
        ([LoRALayer(numbers(2, 3), numbers(2, 4), numbers(3, 2), numbers(3, 4))], "have a of"),
        ([LoRALayer(numbers(2, 3), numbers(2, 4), numbers(4, 2), numbers(2, 4))], r"a of \(3, ra"),
        ([BiasLayer(numbers(2))], r"layers\[0\].*must have an axis of features"),
        ([BiasLayer(numbers(2, 3), axis=0)], r"layers\[0\].*axis must be"),
    ],
    TypeError: [
        (
            [(np.ones((2, 2), int), np.ones((2, 2)))],
            r"layers\[0\]\[0\] must be an array of float16",
        ),
    ],
}


@pytest.mark.parametrize(("layers", "error", "message"), refusals(REFUSED))
def test_layers_are_checked(layers, error, message):
    with pytest.raises(error, match=message) as caught:
        ghost_clip_and_sum(layers, 1.0)
    if isinstance(layers, list) and len(layers) == 1:
        assert "layers[0]" in str(caught.value)
    with pytest.raises(ValueError, match="max_grad_norm must be"):
        ghost_clip_and_sum([LINEAR], -1.0)
    with pytest.raises(TypeError, match="dtype must be"):
        ghost_clip_and_sum([LINEAR], 1.0, dtype=np.float16)
