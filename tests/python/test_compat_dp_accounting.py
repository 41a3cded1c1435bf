"""dp_accounting: its own suites with our accountants, its events and calibration, a ledger."""

from __future__ import annotations

import functools
import json
import math
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from each import slow

from renyi import (
    ZCDP,
    BudgetExceededError,
    Composed,
    DiscreteLaplace,
    FixedSizeSampled,
    Gaussian,
    GaussianMixture,
    Laplace,
    Ledger,
    MatrixMechanism,
    PoissonSampled,
    RandomizedResponse,
    RepeatAndSelect,
    Skellam,
    TruncatedPoissonSampled,
    special,
)
from renyi import PLDAccountant as Own
from renyi.matrix import Tree

dpa = pytest.importorskip("dp_accounting")
from dp_accounting import NeighboringRelation, dp_event  # noqa: E402

from renyi.compat.dp_accounting import (  # noqa: E402
    PLDAccountant,
    RenyiAccountant,
    from_dp_event,
    to_dp_event,
)

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
RUN = dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(1.0)), 1000)

# Why a test of theirs asks for what is not so; docs/migration.md has the exact values.
THEIRS_TO_MEND = {
    "dp_accounting.rdp.rdp_privacy_accountant_test": (
        142,
        {
            "test_compute_rdp_poisson_sampled_gaussian",  # order 1.5: 3.2 % above the value
            "test_log_a_frac_early_termination",  # asks for a series that does not converge
            "test_repeat_and_select_gaussian_poisson_large_large",  # between their orders there
            "test_repeat_and_select_gaussian_poisson_large_med",  # are better ones
            "test_repeat_and_select_gaussian_poisson_med_med",
            "test_repeat_and_select_pure_poisson_mean10",  # 2,545 times above a proven bound
            "test_supports",  # fixed-size samples with replacement are taken here
        },
    ),
    "dp_accounting.pld.pld_privacy_accountant_test": (
        68,
        {
            # Noise 0 on a sample of rate 0.1 is no worse than showing a tenth of the records.
            "test_additive_noise_mechanisms_with_zero_noise_multiplier3",
            "test_additive_noise_mechanisms_with_zero_noise_multiplier4",
            "test_randomized_response_with_zero_noise_parameter",  # a uniform answer may be right
            "test_truncated_subsampled_gaussian_basic",  # 17.9: not the best pair known, 16.5
        },
    ),
    "dp_accounting.mechanism_calibration_test": (41, set()),
}


@pytest.mark.skipif(version("dp-accounting") != "0.6.0", reason="the suites of 0.6.0")
@pytest.mark.parametrize(
    "suite", [name if "calibration" in name else slow(name)[0] for name in THEIRS_TO_MEND]
)
def test_their_own_suite(suite):
    script = Path(__file__).with_name("peer_suites.py")
    found = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), suite], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    result = json.loads(found.stdout.splitlines()[-1])
    count, failed = THEIRS_TO_MEND[suite]
    assert result["run"] == count
    assert set(result["failed"]) == failed, result["failed"]


def epsilon(accountant, event, count=1):
    return accountant.compose(event, count).get_epsilon(1e-5)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE, SPECIAL])
def test_gaussian_sensitivity_is_that_of_the_relation(relation):
    """Values of norm at most C differ by 2 C where one is replaced."""
    moved = 2.0 if relation == REPLACE else 1.0
    exact = special.gaussian_epsilon(moved, 1e-5)
    assert epsilon(PLDAccountant(relation), dpa.GaussianDpEvent(1.0)) >= exact
    assert epsilon(PLDAccountant(relation), dpa.GaussianDpEvent(1.0)) == pytest.approx(exact)
    assert epsilon(RenyiAccountant(None, relation), dpa.GaussianDpEvent(1.0)) >= exact
    # Which is where dp_accounting's Rényi accountant says 4.73, below the truth 9.997.
    theirs = epsilon(dpa.rdp.RdpAccountant(None, relation), dpa.GaussianDpEvent(1.0))
    assert bool(theirs < exact) is (relation == REPLACE)


@pytest.mark.parametrize("accountant", [RenyiAccountant, PLDAccountant])
def test_an_integer_noise_multiplier_counts_every_use(accountant):
    """dp_accounting 0.6 drops 99 of the 100, since 1 is not a float, and answers 2.13."""
    both = [
        epsilon(
            accountant(),
            dpa.PoissonSampledDpEvent(
                0.1, dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(noise), 100)
            ),
        )
        for noise in (1, 1.0)
    ]
    assert both[0] == both[1] > 70


@pytest.mark.parametrize("accountant", [RenyiAccountant, PLDAccountant])
def test_noise_that_is_no_number(accountant):
    with pytest.raises(ValueError, match="Noise multiplier"):
        accountant().compose(dpa.GaussianDpEvent(math.nan))


@pytest.mark.parametrize("accountant", [RenyiAccountant, PLDAccountant])
def test_numpy_counts(accountant):
    assert epsilon(accountant(), dpa.GaussianDpEvent(4.0), np.int64(3)) > 0
    with pytest.raises(TypeError):
        accountant().compose(dpa.GaussianDpEvent(4.0), 1.5)


def test_dp_sgd_beside_theirs():
    exact = Own().compose(PoissonSampled(Gaussian(1.0), 0.01), 1000).get_epsilon_bounds(1e-5)
    ours = epsilon(PLDAccountant(), RUN)
    assert exact[0] <= ours <= exact[1] * (1 + 1e-12)
    assert ours <= epsilon(dpa.pld.PLDAccountant(), RUN)
    assert ours <= epsilon(RenyiAccountant(), RUN) <= epsilon(dpa.rdp.RdpAccountant(), RUN)
    balle = RenyiAccountant(dpa.rdp.rdp_privacy_accountant.DEFAULT_RDP_ORDERS, conversion="balle")
    assert epsilon(balle, RUN) == pytest.approx(epsilon(dpa.rdp.RdpAccountant(), RUN), rel=1e-6)


@pytest.mark.parametrize("accountant", [RenyiAccountant, PLDAccountant])
def test_calibration(accountant):
    def event(sigma):
        return dpa.SelfComposedDpEvent(
            dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(sigma)), 1000
        )

    sigma = dpa.calibrate_dp_mechanism(accountant, event, 1.0, 1e-5, tol=1e-4)
    assert epsilon(accountant(), event(sigma)) <= 1.0
    assert epsilon(accountant(), event(sigma - 3e-4)) > 1.0


WAYS = [
    Composed(),
    Gaussian(1.25),
    Laplace(2.0) * 3,
    Gaussian(1.0) * 2 + Laplace(3.0),
    GaussianMixture(2.0, (0.0, 1.0), (0.75, 0.25)),
    DiscreteLaplace(2.0, 3),
    RandomizedResponse(0.75),
    ZCDP(0.5, 0.25),
    PoissonSampled(Gaussian(1.0) + Laplace(3.0), 0.25),
    FixedSizeSampled(Gaussian(1.0), 10, 100),
    FixedSizeSampled(Gaussian(1.0), 10, 100, True),
    TruncatedPoissonSampled(Gaussian(1.0), 0.5, 3, 10),
    MatrixMechanism(Tree(100), 2.0),
    RepeatAndSelect(Gaussian(4.0), 10.0, math.inf),
]


@pytest.mark.parametrize("mechanism", WAYS, ids=repr)
def test_there_and_back(mechanism):
    event = to_dp_event(mechanism)
    assert from_dp_event(event, REPLACE) == mechanism
    named = dp_event.DpEvent.from_named_tuple(event.to_named_tuple())
    assert from_dp_event(named, REPLACE) == mechanism


@pytest.mark.parametrize("scale", [0.1, 0.3, 7.0, 1e3])
def test_roundings_go_to_less_privacy(scale):
    event = to_dp_event(DiscreteLaplace(scale, 1))
    assert from_dp_event(event).scale <= scale
    response = to_dp_event(RandomizedResponse(1 - 0.5 / (1 + scale), 3))
    assert from_dp_event(response, REPLACE).p >= 1 - 0.5 / (1 + scale)


@pytest.mark.parametrize("mechanism", [Skellam(3.0), PoissonSampled(Skellam(3.0), 0.1), "Gaussian"])
def test_what_has_no_event(mechanism):
    with pytest.raises(TypeError, match="mechanism must be"):
        to_dp_event(mechanism)


def test_what_is_no_event():
    with pytest.raises(dpa.UnsupportedEventError, match="caused by subevent UnsupportedDpEvent"):
        from_dp_event(dpa.ComposedDpEvent([dpa.UnsupportedDpEvent()]))
    with pytest.raises(TypeError, match="event must be"):
        from_dp_event("Gaussian")


@pytest.mark.parametrize("buckets", [2, 3, 10])
@pytest.mark.parametrize("noise", [0.05, 0.3, 1e-9])
def test_randomized_response_by_relation(noise, buckets):
    """The largest loss: of two answers ln((k - (k - 1) r) / r), of one against a uniform one
    the larger of ln(k - (k - 1) r) and -ln r."""
    event = dpa.RandomizedResponseDpEvent(noise, buckets)
    likely = buckets - (buckets - 1) * noise
    for relation, exact in (
        (REPLACE, math.log(likely / noise)),
        (SPECIAL, max(math.log(likely), -math.log(noise))),
    ):
        for accountant in (PLDAccountant(relation), RenyiAccountant(None, relation)):
            found = accountant.compose(event).get_epsilon(0.0)
            assert exact * (1 - 1e-15) <= found <= exact * (1 + 1e-6)


def test_fixed_size_samples():
    event = dpa.SampledWithReplacementDpEvent(1000, 10, dpa.GaussianDpEvent(2.0))
    assert not PLDAccountant(ADD_REMOVE).supports(event)
    assert (
        0
        < epsilon(PLDAccountant(REPLACE), event)
        < epsilon(PLDAccountant(REPLACE), dpa.GaussianDpEvent(2.0))
    )


def test_a_coarse_grid_asks_for_a_coarse_answer():
    event = dp_event.SelfComposedDpEvent(
        dp_event.MixtureOfGaussiansDpEvent(4.0, [0.0, 1.0, 2.0], [0.9, 0.07, 0.03]), 50
    )
    fine, coarse, said = (
        PLDAccountant(value_discretization_interval=interval, rtol=rtol).compose(event)
        for interval, rtol in ((1e-4, None), (0.5, None), (0.5, 1e-6))
    )
    exact = fine.get_delta(0.5)
    assert said.get_delta(0.5) == pytest.approx(exact, rel=1e-6)
    assert exact * (1 + 1e-5) < coarse.get_delta(0.5) <= exact * 1.011


@pytest.mark.parametrize("make", [RenyiAccountant, PLDAccountant])
def test_refusals_record_nothing(make):
    accountant = make()
    bad = dpa.ComposedDpEvent([dpa.GaussianDpEvent(1.0), dpa.UnsupportedDpEvent()])
    with pytest.raises(dpa.UnsupportedEventError, match="caused by subevent UnsupportedDpEvent"):
        accountant.compose(bad)
    assert accountant.get_epsilon(1e-5) == 0
    assert isinstance(accountant.ledger, dpa.NoOpDpEvent)


def test_a_ledger_is_charged_first(tmp_path):
    ledger = Ledger(tmp_path / "privacy.db")
    ledger.create("scans", epsilon=1.0, delta=1e-6)
    accountant = PLDAccountant(charge=functools.partial(ledger.charge, "scans"))
    accountant.compose(dpa.GaussianDpEvent(20.0), 3)
    with pytest.raises(BudgetExceededError):
        accountant.compose(dpa.GaussianDpEvent(1.0))
    assert accountant.ledger == dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(20.0), 3)
    entries = ledger.history("scans")
    assert [entry.type for entry in entries] == ["create", "charge"]
    assert entries[1].count == 3


def test_more_questions():
    accountant = PLDAccountant().compose(RUN)
    low, high = accountant.accountant.get_epsilon_bounds(1e-5)
    assert low <= accountant.get_epsilon(1e-5) <= high * (1 + 1e-12)
    assert accountant.get_epsilon(np.array([1e-5, 1e-6])).shape == (2,)


def test_every_event_has_a_mechanism():
    kinds = {kind for kind in vars(dp_event).values() if isinstance(kind, type)}
    events = {kind for kind in kinds if issubclass(kind, dp_event.DpEvent)}
    known = events - {dp_event.DpEvent, dp_event.UnsupportedDpEvent}
    gaussian = dp_event.GaussianDpEvent(1.0)
    fields = {
        "ComposedDpEvent": ([gaussian],),
        "MixtureOfGaussiansDpEvent": (1.0, (0.0, 1.0), (0.5, 0.5)),
        "PoissonSampledDpEvent": (0.1, gaussian),
        "RepeatAndSelectDpEvent": (gaussian, 2.0, 1.0),
        "SampledWithReplacementDpEvent": (100, 10, gaussian),
        "SampledWithoutReplacementDpEvent": (100, 10, gaussian),
        "SelfComposedDpEvent": (gaussian, 3),
        "TruncatedSubsampledGaussianDpEvent": (100, 0.1, 20, 1.0),
    }
    for kind in known:
        numbers = (1.0, 4)[: len(dpa.dp_event.attr.fields(kind))]
        if kind is dp_event.RandomizedResponseDpEvent:
            numbers = (0.5, 4)
        assert from_dp_event(kind(*fields.get(kind.__name__, numbers))) is not None


def test_random_allocation_of_later_versions():
    """The event as dp_accounting has it after 0.6.0: a stand-in where it is missing."""
    code = """
import attr
from dp_accounting import dp_event
if not hasattr(dp_event, "RandomAllocationDpEvent"):
    @attr.define(frozen=True)
    class RandomAllocationDpEvent(dp_event.DpEvent):
        event: dp_event.DpEvent
        num_selected: int
        num_steps: int
    dp_event.RandomAllocationDpEvent = RandomAllocationDpEvent
from renyi import Composed, Gaussian, RandomAllocation, PLDAccountant as Own
from renyi.compat.dp_accounting import PLDAccountant, from_dp_event, to_dp_event
event = dp_event.RandomAllocationDpEvent(dp_event.GaussianDpEvent(2.0), 1, num_steps=50)
mechanism = RandomAllocation(Gaussian(2.0), 50)
assert from_dp_event(event) == mechanism and to_dp_event(mechanism) == event
mine, plugged = Own().compose(mechanism, 3), PLDAccountant().compose(event, 3)
assert plugged.get_epsilon(1e-5) == mine.get_epsilon(1e-5)
nothing = dp_event.RandomAllocationDpEvent(dp_event.GaussianDpEvent(2.0), 0, 50)
assert from_dp_event(nothing) == Composed()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_libraries_that_ask_for_an_accountant_of_theirs_get_one():
    assert isinstance(PLDAccountant(), dpa.pld.PLDAccountant)
    assert isinstance(RenyiAccountant(), dpa.rdp.RdpAccountant)
    assert not isinstance(PLDAccountant(), dpa.rdp.RdpAccountant)
