"""Accountants as JSON, as copies and beside each other."""

import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanism_strategies import finite_noises, rates

from renyi import (
    ApproxDP,
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PrivacyLoss,
    RDPAccountant,
    RDPCurve,
    pairs,
)

parts = st.one_of(
    st.builds(Gaussian, finite_noises),
    st.builds(Laplace, finite_noises),
    st.builds(ApproxDP, st.floats(0.0, 9.0), rates),
    st.builds(PoissonSampled, st.builds(Gaussian, finite_noises), rates),
)
accountants = st.sampled_from(
    [
        lambda: RDPAccountant(),
        lambda: RDPAccountant(orders=[1.5, 8.0], conversion="balle", adjacency="zero_out"),
        lambda: PLDAccountant(adjacency="zero_out"),
    ]
)


@given(accountants, st.lists(st.tuples(parts, st.integers(0, 999)), max_size=6))
@settings(max_examples=60)
def test_each_way_of_keeping_one_gives_an_equal_one(kind, uses):
    accountant = kind()
    for mechanism, count in uses:
        accountant.compose(mechanism, count)
    for twin in (
        type(accountant).from_json(accountant.to_json()),
        copy.copy(accountant),
        copy.deepcopy(accountant),
        pickle.loads(pickle.dumps(accountant)),
    ):
        assert twin == accountant
        assert twin.mechanisms == accountant.mechanisms
        assert twin.to_json() == accountant.to_json()
        if isinstance(accountant, RDPAccountant):
            assert twin.get_epsilon([1e-3, 1e-9]).tolist() == (
                accountant.get_epsilon([1e-3, 1e-9]).tolist()
            )
        twin.compose(Gaussian(3.0))
        assert twin != accountant


def test_failures_that_came_in_pieces_are_the_same_to_the_last_digit():
    pieces = RDPAccountant().compose(ApproxDP(1.0, 1e-6), 3)
    pieces.compose(ApproxDP(1.0, 1e-7)).compose(ApproxDP(1.0, 1e-6), 4)
    twin = RDPAccountant.from_json(pieces.to_json())
    assert twin.get_approximate_rdp([2.0])[1] == pieces.get_approximate_rdp([2.0])[1]


def test_equality_is_of_what_was_composed_and_of_how_it_is_asked():
    one = RDPAccountant().compose(Gaussian(1.0)).compose(Laplace(2.0), 2)
    assert one == RDPAccountant().compose(Laplace(2.0), 2).compose(Gaussian(1.0))
    assert one != RDPAccountant(adjacency="zero_out").compose(Laplace(2.0), 2).compose(
        Gaussian(1.0)
    )
    assert RDPAccountant() != PLDAccountant()
    assert RDPAccountant() != RDPAccountant(conversion="balle")
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "strict JSON"),
        ('{"type": "RDPAccountant"}', "field 'version'"),
        (RDPAccountant().to_json().replace('"version": 1', '"version": 2'), "version must be 1"),
        (PLDAccountant().to_json(), "type must be 'RDPAccountant', got 'PLDAccountant'"),
        (RDPAccountant().to_json().replace('"orders"', '"ordres"'), "has unknown 'ordres'"),
        (
            RDPAccountant().compose(Gaussian(1.0)).to_json().replace('"count": 1', '"count": -1'),
            "count must be an integer",
        ),
        (RDPAccountant().to_json().replace("add_remove", "swap"), "adjacency must be one of"),
    ],
)
def test_what_is_not_an_accountant(text, words):
    with pytest.raises(ValueError, match=words):
        RDPAccountant.from_json(text)


def test_functions_are_not_written():
    own = RDPCurve([2.0], [0.1])
    assert RDPAccountant.from_json(RDPAccountant().compose(own).to_json()).mechanisms == ((own, 1),)

    def uniform(x):
        return 0.0 * x

    density = PrivacyLoss(pairs.DensityPair(uniform, uniform, 0.0, 1.0))
    with pytest.raises(TypeError, match="cannot hold functions"):
        PLDAccountant().compose(density).to_json()
