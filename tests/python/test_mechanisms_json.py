"""Mechanisms as JSON: equal after a round trip; what is not strictly one is refused."""

import json
import math

import pytest
from each import each
from hypothesis import given
from mechanism_strategies import mechanisms

from renyi import pairs
from renyi.mechanisms import (
    Composed,
    Gaussian,
    Laplace,
    Mechanism,
    PoissonSampled,
    PrivacyLoss,
    RDPCurve,
    ShuffledBatches,
)

STEP = PoissonSampled(Gaussian(1.1), 0.01)


@given(mechanisms())
def test_round_trip_is_exact(mechanism):
    text = mechanism.to_json()
    assert Mechanism.from_json(text) == mechanism
    assert repr(Mechanism.from_json(text)) == repr(mechanism)
    assert repr(Mechanism.from_dict(mechanism.to_dict())) == repr(mechanism)
    assert repr(type(mechanism).from_json(mechanism.to_json(indent=2))) == repr(mechanism)
    json.loads(text, parse_constant=pytest.fail)  # strict: no NaN, no Infinity


def test_the_form():
    run = STEP * 1000 + Gaussian(math.inf)
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
    loss = PrivacyLoss(
        pairs.PoissonSampledPair(pairs.LaplacePair(2.0), 0.5), pairs.GaussianPair(1.0)
    )
    assert loss.to_dict() == {
        "type": "PrivacyLoss",
        "remove": {
            "type": "PoissonSampledPair",
            "base": {"type": "LaplacePair", "scale": 2.0},
            "sample_rate": 0.5,
        },
        "add": {"type": "GaussianPair", "mu": 1.0},
    }
    assert Mechanism.from_dict(loss.to_dict()) == loss


LOSSES = [
    pairs.ApproxDPPair(1.0, 1e-5),
    pairs.BoundedRangePair(0.5),
    pairs.DiscretePair((0.25, 0.75, 0.0), (0.5, 0.25, 0.25)),
    pairs.DiscreteGaussianPair(2.0, 3),
    pairs.DiscreteLaplacePair(2.0, 3),
    pairs.GaussianPair(0.5),
    pairs.GumbelPair(2.0),
    pairs.GeneralisedGaussianPair(1.5, 2.0),
    pairs.GaussianMixturePair([0.75, 0.25], [0, 1], 2.0),
    pairs.LaplacePair(2.0),
    pairs.MixedPair((0.5,), (pairs.LaplacePair(1.0),)),
    pairs.PoissonSampledPair(pairs.LaplacePair(0.1), 1 / 3),
    pairs.RandomizedResponsePair(0.75, 3),
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
    assert Composed.from_dict((STEP * 3).to_dict()) == STEP * 3
    with pytest.raises(ValueError, match="data must be of a Laplace, got Gaussian"):
        Laplace.from_dict(Gaussian(2.0).to_dict())
    with pytest.raises(ValueError, match="text must be of a Gaussian, got PoissonSampled"):
        Gaussian.from_json(STEP.to_json())


GAUSSIAN = {"type": "Gaussian", "noise_multiplier": 1.0}


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
        (ValueError, "type must be that of a mechanism", {"type": "LaplacePair", "scale": 1.0}),
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
        (TypeError, "parts must be a list", {"type": "Composed", "parts": GAUSSIAN}),
        (TypeError, "parts must be mappings", {"type": "Composed", "parts": [3]}),
        (ValueError, "parts must have the fields", {"type": "Composed", "parts": [GAUSSIAN]}),
        (
            TypeError,
            "count must be an integer",
            {"type": "Composed", "parts": [{"mechanism": GAUSSIAN, "count": 1.5}]},
        ),
        (
            TypeError,
            "parts must be mechanisms",
            {"type": "Composed", "parts": [{"mechanism": 3, "count": 1}]},
        ),
        (
            ValueError,
            "has unknown 'version'",
            {"type": "ShuffledBatches", "mechanism": GAUSSIAN | {"version": 1}, "batches": 3},
        ),
        (
            TypeError,
            "mechanism must be a Mechanism",
            {
                "type": "ShuffledBatches",
                "mechanism": {"type": "LaplacePair", "scale": 1.0},
                "batches": 3,
            },
        ),
        (
            TypeError,
            "remove must be a DominatingPair",
            {"type": "PrivacyLoss", "remove": GAUSSIAN, "add": GAUSSIAN},
        ),
    ],
)
def test_bad_dictionaries(error, message, data):
    with pytest.raises(error, match=message):
        Mechanism.from_dict(data)


@pytest.mark.parametrize(
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
    ids=lambda value: str(value)[:30],
)
def test_bad_texts(message, text):
    with pytest.raises(ValueError, match=message):
        Mechanism.from_json(text)


@pytest.mark.parametrize("bad", [None, 3, {}, Gaussian(1.0)])
def test_texts_of_a_wrong_type(bad):
    with pytest.raises(TypeError, match="text must be a string of JSON"):
        Mechanism.from_json(bad)


def test_whole_numbers_and_every_digit():
    assert Mechanism.from_json('{"version": 1, "type": "PureDP", "epsilon": 2}').epsilon == 2.0
    third = RDPCurve([2.0 + 2.0**-51, 3.0], [1 / 3, 5e-324])
    assert Mechanism.from_json(third.to_json()) == third
    many = ShuffledBatches(Gaussian(1.0), 10**300) * 10**1000
    assert Mechanism.from_json(many.to_json()) == many
