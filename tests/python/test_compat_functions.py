"""Functions of dp_accounting and its distributions of losses."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from each import slow

from renyi import (
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
)
from renyi.pairs import Composition

STEP = PoissonSampled(Gaussian(1.0), 0.01)


def test_order_one_is_not_used():
    pytest.importorskip("dp_accounting")
    from renyi.compat.dp_accounting import compute_delta, compute_epsilon

    orders, rdp = [1.0, 2.0, 8.0], [0.1, 0.2, 0.8]
    assert compute_epsilon(orders, rdp, 1e-5) == compute_epsilon(orders[1:], rdp[1:], 1e-5)
    assert compute_delta(orders, rdp, 1.0) == compute_delta(orders[1:], rdp[1:], 1.0)
    with pytest.raises(ValueError, match="order"):
        compute_epsilon([1.0], [0.1], 1e-5)
    with pytest.raises(ValueError, match="rdp"):
        compute_epsilon([3.0, 2.0], [0.1], 1e-5)


class TestDpAccounting:
    """Our upper bounds are no larger than theirs, and near them where their grid is fine."""

    def sides(self):
        pytest.importorskip("dp_accounting")
        from dp_accounting.pld import privacy_loss_distribution as theirs

        from renyi.compat.dp_accounting import privacy_loss_distribution as mine

        return mine, theirs

    @pytest.mark.parametrize(
        ("name", "arguments", "keywords"),
        [
            ("from_gaussian_mechanism", (3.0, 2.0), {"sampling_prob": 0.1}),
            ("from_laplace_mechanism", (2.0,), {"sampling_prob": 0.2}),
            ("from_laplace_mechanism", (3.0, 1.5), {"use_connect_dots": True}),
            ("from_discrete_laplace_mechanism", (0.3, 2), {}),
            ("from_discrete_gaussian_mechanism", (4.0, 2), {"truncation_bound": None}),
            ("from_randomized_response", (0.4, 5), {}),
            *slow(("from_gaussian_mechanism", (1.5,), {})),
            *slow(("from_truncated_subsampled_gaussian_mechanism", (1000, 0.1, 200, 2.0), {})),
            ("identity", (), {}),
        ],
    )
    def test_factories(self, name, arguments, keywords):
        mine, theirs = self.sides()
        grid = {"value_discretization_interval": 1e-4}
        made = getattr(mine, name)(*arguments, **keywords, **grid)
        other = getattr(theirs, name)(*arguments, **keywords, **grid)
        for uses in 1, 6:
            left, right = made.self_compose(uses), other.self_compose(uses)
            epsilons = np.array([0.0, 0.1, 1.0, 2.0])
            found, expected = (
                left.get_delta_for_epsilon(epsilons),
                right.get_delta_for_epsilon(epsilons),
            )
            assert (found <= expected * (1.0 + 1e-6) + 1e-12).all()
            if "truncated" not in name:  # a smaller pair dominates here
                assert (found >= expected * 0.99 - 1e-6).all()
            for delta in 1e-6, 1e-3:
                most = right.get_epsilon_for_delta(delta)
                assert left.get_epsilon_for_delta(delta) <= most * (1.0 + 1e-6) + 1e-9

    def test_relations_and_other_factories(self):
        mine, theirs = self.sides()
        from dp_accounting import NeighboringRelation

        replaced = {"neighboring_relation": NeighboringRelation.REPLACE_ONE}
        sides = [side.from_gaussian_mechanism(1.0, **replaced) for side in (mine, theirs)]
        epsilons = [side.get_epsilon_for_delta(1e-5) for side in sides]
        assert epsilons[0] == pytest.approx(epsilons[1], rel=1e-5)
        parameters = SimpleNamespace(epsilon=0.5, delta=1e-4)
        sides = [side.from_privacy_parameters(parameters) for side in (mine, theirs)]
        assert sides[0].get_delta_for_epsilon(0.2) == pytest.approx(
            sides[1].get_delta_for_epsilon(0.2), rel=1e-3
        )
        lower, upper = {"a": math.log(0.25), "b": math.log(0.75)}, {
            "a": math.log(0.75), "b": math.log(0.25)
        }  # fmt: skip
        made = mine.from_two_probability_mass_functions(lower, upper)
        assert made.get_epsilon_for_delta(0.0) == pytest.approx(math.log(3.0), abs=1e-9)
        assert made.get_epsilon_for_delta(0.0) >= math.log(3.0) - 1e-15

    def test_compositions(self):
        mine, _ = self.sides()
        both = mine.from_gaussian_mechanism(1.0).compose(mine.from_laplace_mechanism(2.0))
        expected = PLDAccountant().compose(Gaussian(1.0)).compose(Laplace(2.0))
        assert both.get_epsilon_for_delta(1e-5) == expected.get_epsilon(1e-5)
        assert mine.from_gaussian_mechanism(1.0).get_delta_for_epsilon_for_composed_pld(
            mine.from_laplace_mechanism(2.0), 1.0
        ) == expected.get_delta(1.0)
        with pytest.raises(ValueError, match="other must be of the adjacency 'add_remove'"):
            both.compose(mine.from_randomized_response(0.5, 4))
        with pytest.raises(ValueError, match="pessimistic_estimate must be True"):
            mine.from_gaussian_mechanism(1.0, pessimistic_estimate=False)
        with pytest.raises(TypeError, match="keywords must be of dp_accounting, got noise"):
            mine.from_gaussian_mechanism(1.0, noise=3.0)

    def test_functions(self):
        dpa = pytest.importorskip("dp_accounting")
        from dp_accounting.pld import accountant, common
        from dp_accounting.rdp import rdp_privacy_accountant

        from renyi.compat import dp_accounting as plug

        orders, rdp = [2.0, 4.0, 8.0, 16.0], [0.1, 0.2, 0.4, 0.8]
        for own, theirs, value in (
            (plug.compute_epsilon, dpa.rdp.compute_epsilon, 1e-5),
            (plug.compute_delta, rdp_privacy_accountant.compute_delta, 1.0),
        ):
            (found, order), (expected, at) = own(orders, rdp, value), theirs(orders, rdp, value)
            assert 0.9 * expected < found <= expected * (1.0 + 1e-12)
            assert order == at
        for sigma in 0.7, 5.0:
            epsilon = plug.get_epsilon_gaussian(sigma, 1e-6)
            assert epsilon == pytest.approx(dpa.get_epsilon_gaussian(sigma, 1e-6), rel=1e-9)
            assert plug.get_sigma_gaussian(epsilon, 1e-6) == pytest.approx(sigma, rel=1e-9)
        target = common.DifferentialPrivacyParameters(1.0, 1e-5)
        for name, keywords in (
            ("get_smallest_gaussian_noise", {"num_queries": 3, "sensitivity": 2.0}),
            ("get_smallest_laplace_noise", {"num_queries": 3}),
            ("get_smallest_discrete_laplace_noise", {"num_queries": 2, "sensitivity": 2}),
            ("get_smallest_subsampled_gaussian_noise", {"num_queries": 9, "sampling_prob": 0.1}),
        ):
            found = getattr(plug, name)(target, **keywords)
            expected = getattr(accountant, name)(target, **keywords)
            assert found == pytest.approx(expected, rel=0.02)


class TestLossesOfDpAccounting:
    @pytest.mark.parametrize(
        ("name", "arguments", "keywords", "steps"),
        [
            ("from_gaussian_mechanism", (1.0,), {"sampling_prob": 0.01}, 1000),
            ("from_gaussian_mechanism", (0.6,), {"sampling_prob": 0.01}, 100),
            ("from_gaussian_mechanism", (1.0,), {"use_connect_dots": False}, 1),
            ("from_laplace_mechanism", (1.0,), {}, 10),
            ("from_randomized_response", (0.5, 4), {}, 3),
        ],
    )
    def test_they_go_in(self, name, arguments, keywords, steps):
        """Delta is theirs in each direction, and everywhere above the exact one."""
        theirs = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
        from renyi.compat.dp_accounting import privacy_loss_distribution as front

        grid = {"value_discretization_interval": 1e-3}
        pld = getattr(theirs, name)(*arguments, **keywords, **grid).self_compose(steps)
        mine = front.from_privacy_loss_distribution(pld)
        exact = getattr(front, name)(*arguments, **keywords).self_compose(steps).accountant
        ((given, _),) = mine.accountant.mechanisms
        for pair, masses in ((given.remove, pld._pmf_remove), (given.add, pld._pmf_add)):
            for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
                _, found = Composition([(pair, 1)]).delta_bounds(epsilon)
                wanted = masses.get_delta_for_epsilon(epsilon)
                assert wanted - 1e-12 <= found <= wanted + 3e-12
        alpha = np.array([0.01, 0.1, 0.5])
        beta = mine.accountant.get_beta(alpha)
        assert (beta <= exact.get_beta(alpha) + 1e-7).all()  # which is rounded down too
        assert beta == pytest.approx(exact.get_beta(alpha), abs=0.01)
        assert mine.accountant.get_advantage() >= exact.get_advantage() - 1e-7
        assert mine.accountant.get_bayes_risk(0.3) <= exact.get_bayes_risk(0.3) + 1e-7

    def test_what_is_no_bound(self):
        theirs = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
        from renyi.compat.dp_accounting.privacy_loss_distribution import (
            from_privacy_loss_distribution,
        )

        with pytest.raises(TypeError, match="must be a PrivacyLossDistribution of dp_accounting"):
            from_privacy_loss_distribution(1.0)
        optimistic = theirs.from_laplace_mechanism(1.0, pessimistic_estimate=False)
        with pytest.raises(ValueError, match="pessimistic estimates, got optimistic"):
            from_privacy_loss_distribution(optimistic)
        more = theirs.PrivacyLossDistribution.create_from_rounded_probability({-1: 1.0}, 0.0, 1.0)
        with pytest.raises(ValueError, match="masses of sum 1, got others"):
            from_privacy_loss_distribution(more)
