"""Rules of clipping, micro-batches and norms that follow a quantile; arguments and outputs."""

import dataclasses
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from each import refused
from numpy.testing import assert_allclose, assert_array_equal
from test_sgd_clipping import rows

from renyi._arrays import rows_of
from renyi.mechanisms import Gaussian
from renyi.sgd import (
    ClipAccumulator,
    Grid,
    LinearLayer,
    QuantileClipNorm,
    RidgeLoss,
    average_clipped_at_half,
    clip_and_sum,
    ghost_clip_and_sum,
    noisy_clipped_sum,
    per_sample_norms,
    weighted_sum,
)

RNG = np.random.default_rng(5)


def test_sensitivity_follows_the_adjacency():
    grads = RNG.standard_normal((5, 3))
    for adjacency, times in (("add_remove", 1.0), ("zero_out", 1.0), ("replace_one", 2.0)):
        assert clip_and_sum(grads, 0.7, adjacency=adjacency).sensitivity == times * 0.7
    with pytest.raises(ValueError, match="adjacency must be the same"):
        clip_and_sum(grads, 0.7) + clip_and_sum(grads, 0.7, adjacency="replace_one")


def test_per_layer():
    parts = [RNG.standard_normal((30, 6)), RNG.standard_normal((30, 2, 2))]
    found = clip_and_sum(parts, [1.0, 2.0], clipping="per_layer")
    for array, part, bound in zip(found.sum, parts, (1.0, 2.0), strict=True):
        assert_allclose(array, clip_and_sum(part, bound).sum, rtol=1e-12)
    assert found.sensitivity >= math.sqrt(5.0) - 1e-15
    assert found.private.norms.shape == found.private.factors.shape == (30, 2)
    clipped = (np.linalg.norm(parts[0], axis=1) > 1) | (
        np.linalg.norm(parts[1].reshape(30, 4), axis=1) > 2
    )
    assert found.private.clipped_count == clipped.sum()
    assert found.private.clipped_fraction == clipped.mean()
    parts[1][4, 0, 1] = np.nan  # the record is dropped, not one layer of it
    dropped = clip_and_sum(parts, [1.0, 2.0], clipping="per_layer")
    rest = [np.delete(part, 4, axis=0) for part in parts]
    for array, part, bound in zip(dropped.sum, rest, (1.0, 2.0), strict=True):
        assert_allclose(array, clip_and_sum(part, bound).sum, rtol=1e-12)
    assert dropped.private.nonfinite_count == 1
    with pytest.raises(ValueError, match="max_grad_norm must be a number or one for each of 2"):
        clip_and_sum(parts, [1.0], clipping="per_layer")
    with pytest.raises(ValueError, match=r"max_grad_norm\[1\] must be"):
        clip_and_sum(parts, [1.0, 0.0], clipping="per_layer")
    with pytest.raises((TypeError, ValueError), match="max_grad_norm"):
        clip_and_sum(parts, [1.0, 1.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_micro_batches(dtype):
    parts = [RNG.standard_normal((90, 3, 2)), RNG.standard_normal((90, 20_000)).astype(np.float32)]
    settings = {"max_grad_norm": [1.0, 3.0], "clipping": "per_layer", "dtype": dtype, "threads": 2}
    sums = ClipAccumulator([(3, 2), (20_000,)], **settings)
    for share in (slice(7), slice(7, 50), slice(50, 90), slice(0)):
        assert sums.add([p[share] for p in parts]) is sums
    found, whole = sums.take(), clip_and_sum(parts, **settings)
    again = sums.add(parts).take()  # a new batch; what was taken stays
    for a, b, c in zip(found.sum, whole.sum, again.sum, strict=True):
        single = dtype == np.float32
        assert_allclose(a, b, rtol=1e-5 if single else 1e-13, atol=1e-6 if single else 0)
        assert_array_equal(c, b)
        assert a is not c
    assert_array_equal(found.private.norms, whole.private.norms)
    assert found.sensitivity == whole.sensitivity
    assert sums.take().private.norms.shape == (0, 2)


@pytest.mark.parametrize("clipping", ["flat", "per_layer"])
def test_sums_without_norms_add_up_and_keep_their_counts(clipping):
    grads = [10.0 ** RNG.uniform(-2, 1, (40, 1)) * RNG.standard_normal((40, n)) for n in (3, 4)]
    grads[1][7] = math.nan
    halves = [[array[rows] for array in grads] for rows in (slice(15), slice(15, 40))]
    one, two = (clip_and_sum(half, 0.7, clipping=clipping) for half in halves)
    total = sum([one, two])
    assert sum([one]) is one
    for first, second in ((one, two.without_diagnostics()), (one.without_diagnostics(), two)):
        found = sum([first, second]).without_diagnostics()
        parts = ClipAccumulator([(3,), (4,)], 0.7, clipping=clipping).add(first).add(second)
        for each in (found, parts.take()):
            assert all(map(np.array_equal, each.arrays, total.arrays))
            for count in ("batch_size", "nonfinite_count", "unclipped_count", "clipped_count"):
                assert getattr(each.private, count) == getattr(total.private, count)
        assert found.private.norms.size == found.private.factors.size == 0
    assert 0 < total.private.unclipped_count < 39
    small = len(pickle.dumps(total.without_diagnostics()))
    many = clip_and_sum(np.ones((9000, 7)), 0.7).without_diagnostics()
    assert len(pickle.dumps(many)) <= small


def test_sums_need_their_counts_and_add_to_sums_only():
    one = clip_and_sum(np.ones((2, 3)), 1.0)
    with pytest.raises(TypeError, match="private must be PrivateDiagnostics, got NoneType"):
        dataclasses.replace(one, private=None)
    for other in (1, None, 0.0):
        with pytest.raises(TypeError, match="unsupported operand"):
            other + one


def test_micro_batches_are_checked():
    sums = ClipAccumulator((3,), 1.0, nonfinite="raise")
    sums.add(np.ones((2, 3)))
    before = clip_and_sum(np.ones((2, 3)), 1.0).sum
    with pytest.raises(ValueError, match=r"grads must be an array \(B, 3\), got an array \(B, 4"):
        sums.add(np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"grads must be an array \(B, 3\), got a list of arr"):
        sums.add([np.ones((2, 3))])
    with pytest.raises(ValueError, match="grads must be finite"):
        sums.add(np.array([[1.0, 1.0, 1.0], [np.nan, 0.0, 0.0]]))
    assert_array_equal(sums.take().sum, before)
    for wrong in ({"shapes": []}, {"shapes": (3,), "max_grad_norm": -1}):
        with pytest.raises(ValueError, match=r"shapes|max_grad_norm"):
            ClipAccumulator(**{"max_grad_norm": 1.0} | wrong)
    for shapes in (10, [3, 4], None):
        with pytest.raises(
            TypeError, match=r"shapes must be a tuple such as \(10,\), or a list of"
        ):
            ClipAccumulator(shapes, 1.0)
    with pytest.raises(TypeError, match="dtype"):
        ClipAccumulator((3,), 1.0, dtype=np.float16)
    with pytest.raises(ValueError, match="nonfinite"):
        ClipAccumulator((3,), 1.0, nonfinite="skip")


def test_average_clipped_at_half():
    grads = RNG.standard_normal((50, 12)).astype(np.float32) + 1.0
    mean = grads.astype(float).mean(axis=0)
    found = average_clipped_at_half(grads, 2.0)
    assert_allclose(found.average, mean / max(1.0, np.linalg.norm(mean)), rtol=1e-6)
    assert found.sensitivity == 2.0
    assert_allclose(average_clipped_at_half(grads, 1e3).average, mean, rtol=1e-6)
    opposite = average_clipped_at_half(-1000 * grads, 2.0)
    square = sum(
        (Fraction(float(a)) - Fraction(float(b))) ** 2
        for a, b in zip(found.average, opposite.average, strict=True)
    )
    assert Fraction(3.99) < square <= 4
    grads[3, 3] = np.inf
    dropped = average_clipped_at_half([grads, grads], 1e3)
    assert_allclose(dropped.average[1], np.delete(grads, 3, 0).sum(axis=0) / 50, rtol=1e-6)
    assert dropped.private.nonfinite_count == 1
    assert not average_clipped_at_half(np.empty((0, 4)), 1.0).average.any()
    huge = average_clipped_at_half(np.full((3, 2), 1e308), 2.0).average
    assert_allclose(huge, np.sqrt(0.5), rtol=1e-6)
    with pytest.raises(ValueError, match="max_change must be"):
        average_clipped_at_half(grads, 0.0)


def count_of(noise):
    return QuantileClipNorm(1.0, expected_batch_size=9, count_noise=noise)


@pytest.mark.parametrize("z", [0.3, 1.0, 1.9999, 2.0 * (1 - 1e-12), 1e-6])
def test_noise_is_split_to_the_safe_side(z):
    for b in (1.0, 5.0, 1000.0):
        above = count_of(b).sum_noise_multiplier(z)
        exact = Fraction(z) ** -2 - Fraction(2 * b) ** -2  # = above^-2, were it exact
        assert Fraction(above) ** -2 <= exact
        assert Fraction(above) ** -2 >= exact * (1 - Fraction(1, 2**44))
        joint = count_of(b).joint_noise_multiplier(above)
        assert joint == pytest.approx(z, rel=1e-13)
        total = Fraction(above) ** -2 + Fraction(2 * b) ** -2
        assert Fraction(joint) ** -2 >= total


def test_noise_that_cannot_be_split_is_refused():
    for z, b in ((2.0, 1.0), (3.0, 1.0)):
        with pytest.raises(ValueError, match="must be less than that of count_noise"):
            count_of(b).sum_noise_multiplier(z)
    with pytest.raises(ValueError, match=r"that of count_noise, 1\.0, got 1\.5"):
        count_of(1.0).sum_noise_multiplier(1.5, "zero_out")
    for wrong in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="noise_multiplier must be"):
            count_of(1.0).sum_noise_multiplier(wrong)
        with pytest.raises(ValueError, match="count_noise must be"):
            count_of(wrong)


def test_split_noise_costs_what_the_composition_costs():
    """Released together, unsampled, the two are a composition of Gaussians."""
    from renyi import RDPAccountant

    z, b = 0.9, 2.0
    whole = RDPAccountant().compose(Gaussian(z))
    split = RDPAccountant().compose(Gaussian(count_of(b).sum_noise_multiplier(z)))
    split.compose(count_of(b).mechanism)
    assert split.get_epsilon(1e-6) == pytest.approx(whole.get_epsilon(1e-6), rel=1e-9)
    assert split.get_epsilon(1e-6) <= whole.get_epsilon(1e-6) * (1 + 1e-12)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_the_norm_finds_the_quantile(quantile):
    norm = QuantileClipNorm(
        100.0, expected_batch_size=400, target_quantile=quantile, learning_rate=0.3
    )
    rng = np.random.default_rng(3)
    for _ in range(200):
        grads = rng.lognormal(0.0, 1.0, (rng.poisson(400), 1))
        count = norm.private_count(clip_and_sum(grads, norm.value))
        norm.update(count + norm.count_noise * rng.standard_normal())
    reached = 0.5 * (1 + math.erf(math.log(norm.value) / math.sqrt(2)))
    assert reached == pytest.approx(quantile, abs=0.06)


def test_quantile_norm_moves_geometrically_and_stays_in_range():
    norm = QuantileClipNorm(2.0, expected_batch_size=10, learning_rate=0.5, target_quantile=0.25)
    assert norm.count_noise == 0.5
    assert norm.mechanism == Gaussian(1.0)
    assert norm.update(5.0) == pytest.approx(2.0 * math.exp(-0.5 * 0.75))
    state = norm.state_dict()
    norm.update(-1e300)
    assert norm.value == 2.0**96
    norm.update(1e300)
    assert norm.value == 2.0**-96
    norm.load_state_dict(state)
    assert norm.value == state["value"]
    clipped = clip_and_sum(np.array([[1e-3], [9.0], [np.nan]]), norm.value)
    assert norm.private_count(clipped) == 0.5 - 0.5 - 0.5
    with pytest.raises(ValueError, match="clipped must be clipped flat at"):
        norm.private_count(clip_and_sum(np.ones((2, 2)), 7.0))
    for wrong in (math.nan, math.inf):
        with pytest.raises(ValueError, match="noised_count must be"):
            norm.update(wrong)
    for options in ({"target_quantile": 1.5}, {"learning_rate": 0.0}, {"count_noise": -1.0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            QuantileClipNorm(1.0, expected_batch_size=10, **options)


# --- outputs, and what is refused


def test_outputs_are_written_and_returned():
    array = rows(50, (6, 4), np.float32)
    plain = clip_and_sum(array, 0.3, dtype=np.float32)
    out, norms = np.full((6, 4), np.nan, np.float32), np.empty(50)
    found = clip_and_sum(array, 0.3, out=out, norms_out=norms)
    assert found.sum is out
    assert_array_equal(out, plain.sum)
    assert_array_equal(norms, plain.private.norms)
    strided = np.full((6, 8), np.nan, np.float32)[:, ::2]
    clip_and_sum(array, 0.3, out=strided)
    assert_array_equal(strided, plain.sum)
    listed = [np.ones((6, 4))]
    clip_and_sum([array], 0.3, out=listed, dtype=np.float64)
    assert_allclose(listed[0], plain.sum, rtol=1e-5)
    weights = np.linspace(0, 1, 50)
    target = np.ones((6, 4), np.float32)
    assert weighted_sum(array, weights, out=target) is target
    assert_allclose(target, np.tensordot(weights, array.astype(float), 1), atol=1e-6)


GRADS = np.ones((4, 3), np.float32)
BROADCAST = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (3,), (0,), writeable=True)
SHARED, NORMS = np.zeros(4, np.float32), np.zeros(6)


def clipping(grads=GRADS, max_grad_norm=1.0, **settings):
    return lambda: clip_and_sum(grads, max_grad_norm, **settings)


def weighting(weights):
    return lambda: weighted_sum(GRADS, weights)


REFUSED = {
    TypeError: [
        (clipping(np.ones((2, 2), int)), "grads must be an array of fl"),
        (clipping(np.ones((2, 2), ">f4")), "grads must be .*>f4"),
        (clipping(np.ones((2, 2), complex)), "grads must be"),
        (clipping(np.ones((2, 2), object)), "got one of object"),
        (clipping(np.ones((2, 2), np.int64)), "got one of int64"),
        (clipping(GRADS, GRADS[0]), r"got \(3,\) float32$"),
        (clipping(GRADS, "1"), "max_grad_norm must be"),
        (clipping(dtype=np.float16), "dtype must be float32 or"),
        (clipping(out=np.ones(3), dtype="f4"), "out must be an array of flo"),
        (clipping(out=[0, 0, 0]), "out must be an array"),
        (clipping(norms_out=np.ones(4, "f4")), "norms_out must be an array of float64"),
        (
            lambda: per_sample_norms(GRADS, out=np.ones(4, np.float32)),
            "^out must be an array of float64, got one of float32",
        ),
    ],
    ValueError: [
        (clipping(np.float32(1.0)), "grads must have a row"),
        (clipping([]), "grads must be .* got an empty list"),
        (clipping([GRADS, GRADS[:2]]), r"grads\[1\] must have as many"),
        (clipping(GRADS, 0.0), r"max_grad_norm must be a number in \[2\^-96"),
        (clipping(GRADS, -1.0), "max_grad_norm must be .* got -1.0"),
        (clipping(GRADS, np.nan), "max_grad_norm must be .* got nan"),
        (clipping(GRADS, np.inf), "max_grad_norm must be .* got inf"),
        (clipping(clipping="soft"), "clipping must be one of"),
        (clipping(stability=-1.0), "stability must be"),
        (clipping(adjacency="all"), "adjacency must be one of"),
        (clipping(threads=0), "threads must be"),
        (clipping(nonfinite="skip"), "nonfinite must be"),
        (clipping(out=np.ones(4, "f4")), r"out must have the shape \(3,\)"),
        (clipping(out=np.broadcast_to(np.float32(0), 3)), "out must be writeable"),
        (clipping(out=BROADCAST), "broadcast view"),
        (clipping(out=GRADS[0]), "out must not overlap"),
        (clipping([GRADS], out=np.ones(3)), "out must be a list of 1"),
        (clipping([GRADS, GRADS], out=[SHARED[:3], SHARED[1:]]), r"out\[1\] must not overlap"),
        (
            clipping(np.ones((4, 3)), out=NORMS[:3], norms_out=NORMS[2:]),
            "norms_out must not overlap",
        ),
        (weighting([1.0]), "weights must be 4 numbers"),
        (weighting([1, 1, 1, np.inf]), "weights must be finite"),
        (weighting(["a"] * 4), "weights must be 4 numbers"),
    ],
}
test_arguments_are_refused = refused(REFUSED)


SAMPLES = [[3.0, 4.0], [0.0, 5.0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda grads: clip_and_sum(grads, 1.0),
        lambda grads: noisy_clipped_sum(grads, 1.0, 1.0),
        lambda grads: weighted_sum(grads, [1.0, 1.0]),
        per_sample_norms,
    ],
)
@pytest.mark.parametrize(
    ("samples", "error", "message"),
    [
        (SAMPLES, TypeError, r"grads\[0\] must be an array .* got list: .* stack per-sample"),
        (tuple(map(tuple, SAMPLES)), TypeError, r"grads\[0\] must be an array .* got tuple"),
        ([np.ones((2, 2)), SAMPLES], TypeError, r"grads\[1\] must be an array"),
        ([3.0, 4.0], TypeError, r"grads\[0\] must be an array"),
        (
            list(np.array(SAMPLES)),
            ValueError,
            r"one array \(B, ...\) for each param.* got a list of 2",
        ),
    ],
)
def test_a_list_of_samples_is_not_taken_for_one_of_parameters(call, samples, error, message):
    with pytest.raises(error, match=message):
        call(samples)


def test_masked_arrays_are_refused():
    masked = np.ma.masked_array(GRADS, mask=GRADS > 0)
    calls = {
        "grads": lambda: clip_and_sum(masked, 1.0),
        r"grads\[1\]": lambda: per_sample_norms([GRADS, masked]),
        "weights": lambda: weighted_sum(GRADS, masked[:, 0]),
        r"layers\[0\]\[0\]": lambda: ghost_clip_and_sum([LinearLayer(masked, GRADS)], 1.0),
        "rows": lambda: Grid(0.5).sum(masked),
        "labels": lambda: RidgeLoss(9.0, 9.0, 1.0).checked(GRADS, masked[:, 0]),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"^{name} must be without a mask, got"):
            call()


def test_lists_of_one_dimensional_arrays_are_of_scalar_parameters_where_it_is_known():
    given = list(np.array(SAMPLES))
    assert rows_of(given, scalars=True).shapes == [(), ()]
    assert rows_of(given[:1]).shapes == [()]
    assert rows_of([given[0], np.ones((2, 3))]).shapes == [(), (3,)]
    assert clip_and_sum(given[:1], 5.0).sum[0] == 7.0


class WithArray:
    """Only ``__array__``."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype, copy=copy)


class WithDLPack:
    """Only ``__dlpack__`` and what belongs to it."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **settings):
        return self.array.__dlpack__(**settings)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnAnotherDevice(WithDLPack):
    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **settings):
        raise BufferError("not on the CPU")


@pytest.mark.parametrize("kind", [WithArray, WithDLPack])
@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_arrays_of_other_libraries_are_read_where_they_are(kind, writeable, dtype):
    array = rows(20, (3, 4), dtype)
    array.flags.writeable = writeable
    plain = clip_and_sum(array, 0.3)
    assert np.shares_memory(rows_of(kind(array)).arrays[0], array)
    assert_array_equal(clip_and_sum(kind(array), 0.3).sum, plain.sum)
    assert_array_equal(clip_and_sum([kind(array)], 0.3).sum[0], plain.sum)
    assert_array_equal(noisy_clipped_sum(kind(array), 0.3, 0.0), plain.sum)


def test_arrays_that_are_elsewhere_are_refused_by_name():
    for given in (WithDLPack(GRADS.astype(complex)), object()):
        with pytest.raises(TypeError, match="grads must be an array of"):
            clip_and_sum(given, 1.0)
    elsewhere = r" must be in the memory of the processor.* got OnAnotherDevice"
    with pytest.raises(TypeError, match="grads" + elsewhere):
        clip_and_sum(OnAnotherDevice(GRADS), 1.0)
    with pytest.raises(TypeError, match=r"grads\[1\]" + elsewhere):
        clip_and_sum([GRADS, OnAnotherDevice(GRADS)], 1.0)


def test_arrays_without_elements_are_written_to():
    out = np.zeros((0, 3))
    assert clip_and_sum(np.zeros((2, 0, 3)), 1.0, out=out).sum is out
