"""Mechanisms are values: equal, hashable, immutable, with an algebra, and as JSON."""

import copy
import dataclasses
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from mechanism_strategies import counts, mechanisms

import renyi.mechanisms
from renyi import matrix, pairs
from renyi.matrix import Tree
from renyi.mechanisms import (
    ZCDP,
    ApproxDP,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    GaussianMixture,
    Gumbel,
    Laplace,
    MatrixMechanism,
    Mechanism,
    MultivariateDiscreteGaussian,
    PoissonSampled,
    PrivacyLoss,
    PureDP,
    RandomizedResponse,
    RDPCurve,
    RepeatAndSelect,
    ShuffledBatches,
)
from renyi.pairs import MechanismPair

STEP = PoissonSampled(Gaussian(1.0), 0.01)
LAPLACE = MechanismPair(Laplace(1.0))
NAMES = {name: getattr(renyi.mechanisms, name) for name in renyi.mechanisms.__all__}
NAMES |= {name: getattr(pairs, name) for name in pairs.__all__}
NAMES |= {name: getattr(matrix, name) for name in matrix.__all__} | {"inf": math.inf}


@given(mechanisms())
def test_repr_is_python(mechanism):
    assert eval(repr(mechanism), NAMES) == mechanism


@given(mechanisms())
def test_values_survive_pickle_and_copy(mechanism):
    for twin in (
        pickle.loads(pickle.dumps(mechanism)),
        copy.copy(mechanism),
        copy.deepcopy(mechanism),
    ):
        assert twin == mechanism
        assert hash(twin) == hash(mechanism)
        assert repr(twin) == repr(mechanism)


@given(mechanisms(3), mechanisms(3), mechanisms(3))
def test_composition_is_commutative_and_associative(a, b, c):
    assert a + b == b + a
    assert hash(a + b) == hash(b + a)
    assert (a + b) + c == a + (b + c)
    assert hash((a + b) + c) == hash(a + (b + c))
    assert Composed(a, b, c) == a + b + c


@given(mechanisms(3), mechanisms(3), counts, counts)
def test_counts_multiply_and_add(a, b, k, n):
    assert (a * k) * n == a * (k * n) == n * (k * a)
    assert a * k + a * n == a * (k + n)
    assert (a + b) * k == a * k + b * k
    assert a * 0 == Composed()
    assert a + Composed() == a * 1


@given(st.lists(mechanisms(3), min_size=2, max_size=4), st.randoms())
def test_order_makes_no_difference_wherever_it_stands(parts, random):
    shuffled = random.sample(parts, len(parts))
    one = ShuffledBatches(Composed(*parts) + Gaussian(1.0), 10)
    two = ShuffledBatches(Gaussian(1.0) + Composed(*shuffled), 10)
    assert one == two
    assert len({one, two}) == 1


@given(mechanisms(3), mechanisms(3))
def test_what_reads_alike_is_equal(a, b):
    assert (a == b) or repr(a) != repr(b)
    assert a != b or hash(a) == hash(b)


@given(mechanisms())
def test_every_mechanism_reads_clearly(mechanism):
    lines = mechanism.describe().splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert not lines[0].startswith(" ")
    assert "object at 0x" not in mechanism.describe()


def test_equal_values_are_equal_whatever_their_number_type():
    same = [Gaussian(2), Gaussian(2.0), Gaussian(np.int64(2)), Gaussian(np.array(2.0))]
    assert len(set(same)) == 1
    assert all(type(value.noise_multiplier) is float for value in same)
    assert PoissonSampled(Gaussian(2), np.float32(0.5)) == PoissonSampled(Gaussian(2.0), 0.5)
    assert Gaussian(2.0) != Gaussian(2.5)
    assert Gaussian(2.0) * 1 != Gaussian(3.0) * 1
    assert Gaussian(2.0) != Laplace(2.0)
    assert type(DiscreteGaussian(3, np.int8(2)).sensitivity) is int
    assert repr(Gaussian(-0.0)) == "Gaussian(noise_multiplier=0.0)"


def test_algebra_flattens_and_merges():
    a, b = Gaussian(1.0), Gaussian(2.0)
    assert (a * 2 + b) * 3 == Composed((a, 6), (b, 3)) == 3 * (b + a + a)
    assert ((a * 2 + b) * 3).parts == ((a, 6), (b, 3))
    assert hash(a + b) == hash(b + a)
    assert (a * 0).parts == ()
    assert Composed().parts == ()
    assert (a * 10**400).parts == ((a, 10**400),)


@pytest.mark.parametrize("number", [np.int64(3), np.uint8(3), np.array(3)])
def test_counts_may_be_numbers_of_numpy(number):
    for product in (number * STEP, STEP * number, Composed((STEP, number))):
        assert product == STEP * 3
        assert type(product.parts[0][1]) is int


def test_arrays_are_no_counts():
    for product in (lambda: np.array([1, 2]) * STEP, lambda: STEP * np.array([1, 2])):
        with pytest.raises(TypeError, match="count must be an integer >= 0"):
            product()


def test_immutable():
    with pytest.raises(AttributeError):
        Gaussian(1.0).noise_multiplier = 2.0
    with pytest.raises(AttributeError):
        (STEP * 2).anything = 1
    with pytest.raises(AttributeError):
        (STEP * 2)._parts = ()
    with pytest.raises(AttributeError):
        del (STEP * 2)._parts
    for kind in NAMES.values():
        if isinstance(kind, type) and issubclass(kind, Mechanism):
            assert "__dict__" not in dir(kind), kind


def test_fields_can_be_replaced():
    assert dataclasses.replace(STEP, sample_rate=0.5) == PoissonSampled(Gaussian(1.0), 0.5)
    table = RDPCurve([2.0, 3.0], [1.0, 2.0])
    assert dataclasses.replace(table, rdp=[1, 4]) == RDPCurve([2.0, 3.0], [1.0, 4.0])


def test_description_of_a_run():
    mixture = GaussianMixture(2.0, range(9), [1.0] + [0.0] * 8)
    run = PoissonSampled(Gaussian(1.1) * 3 + mixture, 0.01) * 10_000 + ZCDP(0.5, 0.25)
    assert (run + RepeatAndSelect(PureDP(0.5), 2.5, math.inf)).describe() == (
        "10000 x\n"
        "  Poisson sample, rate 0.01, of\n"
        "    3 x\n"
        "      Gaussian noise, multiplier 1.1\n"
        "    1 x\n"
        "      Gaussian noise, multiplier 2, of sensitivity random among 9 from 0 to 8\n"
        "1 x\n"
        "  Zero-concentrated privacy, rho 0.5, xi 0.25\n"
        "1 x\n"
        "  Best of a random number of runs, mean 2.5, Poisson, of\n"
        "    Pure privacy, epsilon 0.5"
    )
    assert Composed().describe() == "Nothing released"


def test_losses_are_described_and_written_with_their_module():
    one, two = MechanismPair(Laplace(2.0)), pairs.StudentTPair(3.0, 2.0)
    assert PrivacyLoss(two).describe() == "Privacy loss StudentTPair(degrees=3.0, scale=2.0)"
    other = PrivacyLoss(one, two)
    assert other.describe() == f"Privacy loss {one!r}, {two!r}"
    assert other.loss(remove=True) == one
    assert other.loss(remove=False) == two


def test_a_function_becomes_a_table():
    orders = []

    def rdp(order):
        orders.append(order)
        return 0.5 * order

    curve = RDPCurve(None, rdp)
    assert curve.orders == tuple(orders)
    assert curve == RDPCurve(orders, [0.5 * order for order in orders])
    assert set(range(2, 65)) < set(curve.orders)
    assert curve.orders[0] < 1.001 < 1e5 < curve.orders[-1]
    assert hash(curve) == hash(pickle.loads(pickle.dumps(curve)))
    assert RDPCurve(np.array([4.0, 2.0]), np.sqrt).rdp == (2.0**0.5, 2.0)


def test_between_the_default_orders_straight_lines_are_close():
    orders = np.array(RDPCurve(None, lambda order: order).orders)
    middle = 0.5 * (orders[1:] + orders[:-1])
    line = 0.5 * (orders[1:] * (orders[1:] - 1.0) + orders[:-1] * (orders[:-1] - 1.0))
    assert np.all(line <= 1.001 * middle * (middle - 1.0))


def test_a_function_that_overflows_says_infinity():
    assert RDPCurve([2, 1000], math.exp).rdp == (math.exp(2), math.inf)
    with pytest.raises(ZeroDivisionError):
        RDPCurve([2, 3], lambda order: 1 / (3 - order))


@pytest.mark.parametrize("noise", [0.0, 1e-300, 0.1, 6.0, 1e300, math.inf])
def test_a_tree_has_no_more_noise_than_it_has(noise):
    for steps in (1, 2, 7, 300, 10**6):
        tree = MatrixMechanism(Tree(steps), noise)
        effective = tree.effective_noise_multiplier
        assert effective == pytest.approx(noise / math.sqrt(tree.strategy.heights), rel=1e-14)
        if 0.0 < noise < math.inf:
            assert Fraction(effective) ** 2 * tree.strategy.heights < Fraction(noise) ** 2


NOISE = r"noise_multiplier must be a number in \[0, inf\]"
POSITIVE_NOISE = r"noise_multiplier must be a number in \(0, inf\]"
OUTSIDE = [
    (NOISE, Gaussian, -1.0),
    (NOISE, Gaussian, math.nan),
    (NOISE, Gaussian, -math.inf),
    (NOISE, MatrixMechanism, Tree(3), -1.0),
    (POSITIVE_NOISE, Laplace, 0.0),
    (POSITIVE_NOISE, Gumbel, 0),
    (POSITIVE_NOISE, GaussianMixture, 0.0, [1.0], [1.0]),
    (r"sensitivities must be a number in \[0, inf\)", GaussianMixture, 1.0, [-1.0], [1.0]),
    (r"sensitivities must be a number in \[0, inf\)", GaussianMixture, 1.0, [math.inf], [1.0]),
    (r"sensitivities must be at least one", GaussianMixture, 1.0, [], []),
    (r"probabilities must be as many as sensi", GaussianMixture, 1.0, [1.0], [0.5, 0.5]),
    (r"probabilities must be a number in \[0, 1\]", GaussianMixture, 1.0, [1.0, 2.0], [2, -1]),
    (r"probabilities must be numbers of sum 1", GaussianMixture, 1.0, [1.0, 2.0], [0.5, 0.4]),
    (r"sigma must be a number in \(0, inf\)", DiscreteGaussian, 0.0),
    (r"sigma must be a number in \(0, inf\)", DiscreteGaussian, math.inf),
    (r"sensitivity must be an integer >= 1", DiscreteGaussian, 1.0, 0),
    (r"scale must be a number in \(0, inf\)", DiscreteLaplace, -1.0),
    (r"sensitivity must be an integer >= 1", DiscreteLaplace, 1.0, -1),
    (r"p must be a number in \[0, 1\]", RandomizedResponse, 1.5),
    (r"choices must be an integer >= 1", RandomizedResponse, 0.75, 0),
    (r"epsilon must be a number in \[0, inf\]", Exponential, -0.1),
    (r"epsilon must be a number in \[0, inf\]", PureDP, math.nan),
    (r"epsilon must be a number in \[0, inf\]", ApproxDP, -1.0, 0.0),
    (r"delta must be a number in \[0, 1\]", ApproxDP, 1.0, 1.5),
    (r"rho must be a number in \[0, inf\]", ZCDP, -1.0),
    (r"xi must be a number in \[0, inf\]", ZCDP, 1.0, -1e-9),
    (r"orders must be a number in \(1, inf\)", RDPCurve, [1.0], [1.0]),
    (r"orders must be a number in \(1, inf\)", RDPCurve, [2.0, math.inf], [1.0, 2.0]),
    (r"orders must be distinct, got 2.0 twice", RDPCurve, [2, 3, 2.0], [1, 1, 1]),
    (r"orders must be at least one number", RDPCurve, [], []),
    (r"rdp must be as many as orders, 2, got 1", RDPCurve, [2, 3], [1]),
    (r"rdp must be a number in \[0, inf\]", RDPCurve, [2, 3], [1, math.nan]),
    (r"rdp\(3\) must be a number in \[0, inf\], got -1", RDPCurve, [2, 3], lambda a: 5 - 2 * a),
    (r"mean must be a number in \[1, inf\)", RepeatAndSelect, STEP, 0.5, 1.0),
    (r"mean must be a number in \(0, inf\)", RepeatAndSelect, STEP, 0.0, math.inf),
    (r"mean must be a number in \(0, 3\]", RepeatAndSelect, STEP, 4.0, -3),
    (r"shape must be a number in \(-1, inf\] or a whole number", RepeatAndSelect, STEP, 2.0, -1.5),
    (r"sample_rate must be a number in \[0, 1\]", PoissonSampled, STEP, -0.1),
    (r"sample_rate must be a number in \[0, 1\]", PoissonSampled, STEP, math.inf),
    (r"count must be an integer >= 0", Composed, (STEP, -1)),
]


@each(("message", "kind", "arguments"), [(m, k, a) for m, k, *a in OUTSIDE])
def test_arguments_outside_their_range(message, kind, arguments):
    if kind is RDPCurve and callable(arguments[1]):
        arguments = [arguments[0], lambda order: 5.0 - 2.0 * order]
    with pytest.raises(ValueError, match=f"^{message}"):
        kind(*arguments)


NOT_NUMBERS = ["1", b"1", None, 1j, [1.0], True, {}, Gaussian(1.0)]
ONE_NUMBER = [Gaussian, Laplace, Gumbel, DiscreteGaussian, DiscreteLaplace, Exponential, PureDP]
ONE_NUMBER += [ZCDP, RandomizedResponse, MultivariateDiscreteGaussian]


@each("kind", ONE_NUMBER)
@each("bad", NOT_NUMBERS)
def test_numbers_of_a_wrong_type(kind, bad):
    name = dataclasses.fields(kind)[0].name
    with pytest.raises(TypeError, match=f"^{name} must be a number in"):
        kind(bad)


WHOLE, SEQUENCES, OTHERS = [1.5, "3", None, True, [1]], [1.0, "12", None], [3, None]


@each(
    "message, make, bads",
    [
        ("count must be an integer >= 0", lambda bad: Composed((STEP, bad)), WHOLE),
        ("count must be an integer >= 0", lambda bad: STEP * bad, WHOLE),
        ("choices must be an integer >= 1", lambda bad: RandomizedResponse(0.75, bad), WHOLE),
        ("sensitivity must be an integer >= 1", lambda bad: DiscreteLaplace(0.75, bad), WHOLE),
        ("sensitivities must be a seq", lambda bad: GaussianMixture(1.0, bad, [1.0]), SEQUENCES),
        ("rdp must be a sequence", lambda bad: RDPCurve([2.0], bad), SEQUENCES),
        ("orders must be", lambda bad: RDPCurve([bad and "2"], [1.0]), SEQUENCES),
        ("parts must be", Composed, OTHERS),
        ("mechanism must be", lambda bad: PoissonSampled(bad, 0.5), OTHERS),
        ("mechanism must be", lambda bad: RepeatAndSelect(bad, 2.0, 1.0), OTHERS),
        ("remove must be a DominatingPair", PrivacyLoss, [Gaussian(1.0)]),
        ("add must be a DominatingPair", lambda x: PrivacyLoss(LAPLACE, x), [3, Gaussian(1.0)]),
        ("unsupported operand", lambda bad: STEP + bad, OTHERS),
    ],
)
def test_wrong_types(message, make, bads):
    for bad in bads:
        with pytest.raises(TypeError, match=message):
            make(bad)


@given(mechanisms(3), st.sampled_from([-1, 1.5, "3", None]))
def test_what_fails_leaves_nothing_behind(mechanism, bad):
    before = repr(mechanism), hash(mechanism)
    with pytest.raises((TypeError, ValueError)):
        mechanism * bad
    with pytest.raises((TypeError, ValueError)):
        Composed(mechanism, (mechanism, bad))
    assert (repr(mechanism), hash(mechanism)) == before


# --- as JSON


SAMPLED_STEP = PoissonSampled(Gaussian(1.1), 0.01)


@given(mechanisms())
def test_round_trip_is_exact(mechanism):
    text = mechanism.to_json()
    assert Mechanism.from_json(text) == mechanism
    assert repr(Mechanism.from_json(text)) == repr(mechanism)
    assert repr(Mechanism.from_dict(mechanism.to_dict())) == repr(mechanism)
    assert repr(type(mechanism).from_json(mechanism.to_json(indent=2))) == repr(mechanism)
    json.loads(text, parse_constant=pytest.fail)  # strict: no NaN, no Infinity


def test_the_form():
    run = SAMPLED_STEP * 1000 + Gaussian(math.inf)
    data = {
        "type": "Composed",
        "parts": [
            {
                "mechanism": {
                    "type": "PoissonSampled",
                    "mechanism": {"type": "Gaussian", "noise_multiplier": 1.1},
                    "sample_rate": 0.01,
                },
                "count": 1000,
            },
            {"mechanism": {"type": "Gaussian", "noise_multiplier": "inf"}, "count": 1},
        ],
    }
    assert run.to_dict() == data
    assert json.loads(run.to_json()) == {"version": 1, **data}
    assert Mechanism.from_dict(data) == run
    assert Mechanism.from_dict({"version": 1, **data}) == run
    assert Mechanism.from_json(run.to_json().encode()) == run


def test_losses_are_named_with_their_module():
    base = MechanismPair(Laplace(2.0), "replace_one")
    loss = PrivacyLoss(pairs.PoissonSampledPair(base, 0.5), pairs.StudentTPair(3.0, 2.0))
    assert loss.to_dict() == {
        "type": "PrivacyLoss",
        "remove": {
            "type": "PoissonSampledPair",
            "base": {
                "type": "MechanismPair",
                "mechanism": {"type": "Laplace", "noise_multiplier": 2.0},
                "adjacency": "replace_one",
                "direction": "remove",
            },
            "sample_rate": 0.5,
        },
        "add": {"type": "StudentTPair", "degrees": 3.0, "scale": 2.0},
    }
    assert Mechanism.from_dict(loss.to_dict()) == loss


LOSSES = [
    pairs.DiscretePair((0.25, 0.75, 0.0), (0.5, 0.25, 0.25)),
    pairs.GumbelPair(2.0),
    pairs.GeneralisedGaussianPair(1.5, 2.0),
    pairs.LogisticPair(2.0),
    MechanismPair(PoissonSampled(GaussianMixture(2.0, [0, 1], [0.75, 0.25]), 0.1), direction="add"),
    pairs.MixedPair((0.5,), (MechanismPair(Laplace(1.0)),)),
    pairs.PoissonSampledPair(MechanismPair(Laplace(0.1)), 1 / 3),
    pairs.StudentTPair(3.0, 2.0),
    pairs.ReversedPair(pairs.DiscretePair((0.25, 0.75), (0.5, 0.5))),
]


@each("loss", LOSSES)
def test_losses_survive(loss):
    mechanism = PrivacyLoss(loss, pairs.ReversedPair(pairs.ReversedPair(loss)))
    text = mechanism.to_json()
    assert Mechanism.from_json(text) == mechanism
    assert repr(Mechanism.from_json(text)) == repr(mechanism)


def test_every_loss_is_among_them():
    kinds = {
        getattr(pairs, name) for name in pairs.__all__ if isinstance(getattr(pairs, name), type)
    }
    losses = {kind for kind in kinds if issubclass(kind, pairs.DominatingPair)}
    assert losses - {type(loss) for loss in LOSSES} == {pairs.DensityPair, pairs.DominatingPair}


class OwnLoss(pairs.DominatingPair):
    def _build(self):
        raise NotImplementedError


class OwnGaussian(Gaussian):
    pass


def test_functions_and_classes_from_elsewhere_are_refused():
    density = pairs.DensityPair(lambda x: 0.0 * x, lambda x: 0.0 * x, 0.0, 1.0)
    for loss in (density, pairs.ReversedPair(density), OwnLoss()):
        with pytest.raises(TypeError, match="must be made of numbers to be written as JSON"):
            (PrivacyLoss(loss) * 2).to_json()
    with pytest.raises(TypeError, match="classes from elsewhere"):
        OwnGaussian(1.0).to_dict()


def test_a_class_reads_its_own():
    assert Gaussian.from_json(Gaussian(2.0).to_json()) == Gaussian(2.0)
    assert Composed.from_dict((SAMPLED_STEP * 3).to_dict()) == SAMPLED_STEP * 3
    with pytest.raises(ValueError, match="data must be of a Laplace, got Gaussian"):
        Laplace.from_dict(Gaussian(2.0).to_dict())
    with pytest.raises(ValueError, match="text must be of a Gaussian, got PoissonSampled"):
        Gaussian.from_json(SAMPLED_STEP.to_json())


GAUSSIAN, GUMBEL = (
    {"type": "Gaussian", "noise_multiplier": 1.0},
    {"type": "GumbelPair", "scale": 1.0},
)
PARTS, ONE = {"type": "Composed"}, {"mechanism": GAUSSIAN, "count": 1}
BATCHES, LOSS = {"type": "ShuffledBatches", "batches": 3}, {"type": "PrivacyLoss", "add": GAUSSIAN}


@each(
    ("error", "message", "data"),
    [
        (TypeError, "data must be a mapping", []),
        (TypeError, "data must be a mapping", None),
        (TypeError, "data must be a mapping", "Gaussian"),
        (ValueError, "data must have the field 'type'", {}),
        (ValueError, "data must have the field 'type'", {"noise_multiplier": 1.0}),
        (ValueError, "type must be one of .*Gaussian.*got 'Gauss'", {"type": "Gauss"}),
        (ValueError, "type must be one of", {"type": None}),
        (ValueError, "type must be one of", {"type": ["Gaussian"]}),
        (ValueError, "type must be one of", {"type": "Mechanism"}),
        (ValueError, "type must be one of", {"type": "DensityPair"}),
        (ValueError, "type must be that of a mechanism", GUMBEL),
        (ValueError, "Gaussian must have the fields.*lacks 'noise_mult", {"type": "Gaussian"}),
        (ValueError, "has unknown 'sigma'", GAUSSIAN | {"sigma": 1.0}),
        (ValueError, "noise_multiplier must be", GAUSSIAN | {"noise_multiplier": -1.0}),
        (ValueError, "noise_multiplier must be", GAUSSIAN | {"noise_multiplier": "-inf"}),
        (TypeError, "noise_multiplier must be", GAUSSIAN | {"noise_multiplier": "nan"}),
        (TypeError, "noise_multiplier must be", GAUSSIAN | {"noise_multiplier": "1"}),
        (TypeError, "noise_multiplier must be", GAUSSIAN | {"noise_multiplier": None}),
        (TypeError, "noise_multiplier must be", GAUSSIAN | {"noise_multiplier": True}),
        (TypeError, "noise_multiplier must be", GAUSSIAN | {"noise_multiplier": GAUSSIAN}),
        (ValueError, "noise_multiplier must be", GAUSSIAN | {"noise_multiplier": 10**400}),
        (ValueError, "version must be 1, got 2", GAUSSIAN | {"version": 2}),
        (ValueError, "version must be 1, got 1.0", GAUSSIAN | {"version": 1.0}),
        (ValueError, "version must be 1, got True", GAUSSIAN | {"version": True}),
        (TypeError, "parts must be a list", PARTS | {"parts": GAUSSIAN}),
        (TypeError, "parts must be mappings", PARTS | {"parts": [3]}),
        (ValueError, "parts must have the fields", PARTS | {"parts": [GAUSSIAN]}),
        (TypeError, "count must be an integer", PARTS | {"parts": [ONE | {"count": 1.5}]}),
        (TypeError, "parts must be mechanisms", PARTS | {"parts": [ONE | {"mechanism": 3}]}),
        (ValueError, "has unknown 'version'", BATCHES | {"mechanism": GAUSSIAN | {"version": 1}}),
        (TypeError, "mechanism must be a Mechanism", BATCHES | {"mechanism": GUMBEL}),
        (TypeError, "remove must be a DominatingPair", LOSS | {"remove": GAUSSIAN}),
    ],
)
def test_bad_dictionaries(error, message, data):
    with pytest.raises(error, match=message):
        Mechanism.from_dict(data)


@each(
    ("message", "text"),
    [
        ("strict JSON", ""),
        ("strict JSON", "Gaussian"),
        ("strict JSON", b"\xff"),
        ("strict JSON", "[" * 100_000),
        ("with the field 'version'", "3"),
        ("with the field 'version'", '{"type": "Gaussian", "noise_multiplier": 1.0}'),
        ("version must be 1", '{"version": 7, "type": "Gaussian", "noise_multiplier": 1.0}'),
        ("numbers must be", '{"version": 1, "type": "Gaussian", "noise_multiplier": Infinity}'),
        ("numbers must be", '{"version": 1, "type": "Gaussian", "noise_multiplier": NaN}'),
        ("numbers must be", '{"version": 1, "type": "Gaussian", "noise_multiplier": 1e999}'),
        ("distinct", '{"version": 1, "type": "PureDP", "epsilon": 1, "epsilon": 2}'),
    ],
)
def test_bad_texts(message, text):
    with pytest.raises(ValueError, match=message):
        Mechanism.from_json(text)
    for bad in (None, 3, {}, Gaussian(1.0)):
        with pytest.raises(TypeError, match="text must be a string of JSON"):
            Mechanism.from_json(bad)


def test_whole_numbers_and_every_digit():
    assert Mechanism.from_json('{"version": 1, "type": "PureDP", "epsilon": 2}').epsilon == 2.0
    third = RDPCurve([2.0 + 2.0**-51, 3.0], [1 / 3, 5e-324])
    assert Mechanism.from_json(third.to_json()) == third
    many = ShuffledBatches(Gaussian(1.0), 10**300) * 10**1000
    assert Mechanism.from_json(many.to_json()) == many
