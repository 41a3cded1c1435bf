"""DP-SGD: what is recorded, what is added, what is divided by, and what is left alone."""

import copy
import dataclasses
import itertools
import json
import math
import threading

import numpy as np
import pytest
from each import refused
from sgd_states import same, seeded

from renyi import Gaussian, PLDAccountant, RDPAccountant
from renyi.filters import BudgetExceededError
from renyi.noise import SecureGenerator
from renyi.sgd import (
    DPSGD,
    SGD,
    Adam,
    LinearLayer,
    QuantileClipNorm,
    TrainingPlan,
    clip_and_sum,
    ghost_clip_and_sum,
)
from renyi.sgd import noisy_sums as module

FIXED = {"sampling": "fixed_size", "adjacency": "replace_one"}
SHUFFLED = {"sampling": "shuffled", "adjacency": "zero_out"}
BINS = {"sampling": "balls_in_bins", "batch_size": 300}
CYCLIC = {"sampling": "cyclic_poisson", "cycle_length": 5}
GRID = {"grid_spacing": 2.0**-12, "dimension": 100_000}
DELTA = 1e-5


def plan(population=1000, batch_size=10, steps=20, noise_multiplier=1.0, **settings):
    return TrainingPlan(
        population, batch_size, steps=steps, noise_multiplier=noise_multiplier, **settings
    )


def rows(seed, count=10, shapes=((3,), (2, 2))):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(count, *shape)) for shape in shapes]


def made(planned=None, rule=None, **settings):
    """An optimiser of two arrays, and the arrays."""
    weights = [np.zeros(3), np.ones((2, 2))]
    settings = {"generator": seeded(), **settings}
    return DPSGD(weights, planned or plan(), rule or SGD(0.1), **settings), weights


def run(optimizer, steps):
    for _ in range(steps):
        optimizer.step()


def counted(optimizer, steps):
    """Return the number of releases that is recorded after each step."""
    counts = []
    for _ in range(steps):
        optimizer.step()
        counts.append(optimizer.accountant.mechanisms[0][1])
    return counts


def untouched(optimizer, weights, error, message, act, *arguments):
    """Check that an error changes nothing at all."""
    before = copy.deepcopy(optimizer.state_dict(secrets=True))
    spent = optimizer.accountant.mechanisms
    with pytest.raises(error, match=message):
        act(*arguments)
    assert same(optimizer.state_dict(secrets=True), before)
    assert optimizer.accountant.mechanisms == spent
    assert same(weights, before["parameters"])


# --- what a step does


@pytest.mark.parametrize("clipping", ["flat", "per_layer", "automatic"])
def test_without_noise_a_step_is_the_clipped_sum_over_the_public_size(clipping):
    optimizer, weights = made(plan(noise_multiplier=0.0, max_grad_norm=0.7), clipping=clipping)
    grads = rows(1, 7)
    grads[0][3, 1], grads[1][5, 0, 1] = math.nan, math.inf
    finite = [np.delete(array, [3, 5], axis=0) for array in grads]
    mean = [array / 10.0 for array in clip_and_sum(finite, 0.7, clipping=clipping).sum]  # not by 7
    released = optimizer.step(grads)
    assert optimizer.private.nonfinite_count == 2
    assert same(released, mean)
    assert same(weights, [0.0 - 0.1 * mean[0], 1.0 - 0.1 * mean[1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("scheme", "divisor"),
    [({}, 10.0), (FIXED, 10.0), ({**SHUFFLED, "batch_size": 300}, 250.0), (GRID, 10.0)],
)
def test_noise_has_the_scale_of_the_plan(dtype, scheme, divisor):
    planned = plan(**{"noise_multiplier": 1.5, "max_grad_norm": 0.25, **scheme})
    optimizer = DPSGD(np.zeros(100_000, dtype), planned, SGD(0.1), generator=seeded())
    empty = planned.batch_size if scheme == FIXED else 0
    assert planned.noise_scale > 1.5 * (0.25 + (scheme == GRID) * 2.0**-13 * 100_000**0.5)
    noise = optimizer.step(np.zeros((empty, 100_000), dtype)) * divisor / planned.noise_scale
    assert noise.dtype == np.float64
    assert abs(noise.mean()) < 5 / math.sqrt(noise.size)
    assert abs((noise.astype(float) ** 2).mean() - 1) < 5 * math.sqrt(2 / noise.size)


def test_no_noise_is_used_twice():
    optimizer, _ = made()
    assert not np.intersect1d(optimizer.step()[0], optimizer.step()[0]).size
    (one, _), (two, _) = made(generator=None), made(generator=SecureGenerator())
    two.load_state_dict(one.state_dict(secrets=True), branch=True)
    assert not np.intersect1d(one.step()[0], two.step()[0]).size


def test_one_array_of_any_shape():
    for shape in (), (0,), (4,), (2, 3):
        weight = np.ones(shape, np.float32)
        optimizer = DPSGD(weight, plan(), SGD(0.1))
        released = optimizer.step(np.ones((5, *shape), np.float32))
        assert isinstance(released, np.ndarray)
        assert released.shape == shape
        assert np.all(weight != 1.0)


def test_parameters_may_be_views():
    store = np.zeros((4, 6))
    optimizer = DPSGD([store[:2, ::3], store[2:].T], plan(), SGD(0.1), generator=seeded())
    optimizer.step([np.zeros((1, 2, 2)), np.zeros((1, 6, 2))])
    assert np.count_nonzero(store) == 4 + 12
    assert np.all(store[:2, 1::3] == 0.0)


# --- micro-batches


@pytest.mark.parametrize("cuts", [(3,), (1, 2, 9), (0, 5, 5, 10), tuple(range(1, 10))])
def test_micro_batches_do_not_change_the_sum(cuts):
    grads = rows(4)
    (whole, a), (parts, b) = made(), made(plan(accumulation=4))
    whole.step(grads)
    for number, piece in enumerate(zip(*(np.split(array, cuts) for array in grads), strict=True)):
        # A sum that was clipped elsewhere is as good as its rows.
        parts.accumulate(clip_and_sum(list(piece), 1.0) if number % 2 else list(piece))
    assert parts.steps == 0
    assert parts.accountant.mechanisms == ()
    parts.step()
    assert all(np.allclose(x, y, rtol=0, atol=1e-15) for x, y in zip(a, b, strict=True))
    assert parts.accountant.mechanisms == whole.accountant.mechanisms
    assert parts.private.batch_size == 10


# --- what is recorded


@pytest.mark.parametrize(
    "scheme",
    [
        *({}, {**SHUFFLED, "batch_size": 300}, BINS, {**BINS, "adjacency": "zero_out"}),
        *({**CYCLIC, "adjacency": one} for one in ("add_remove", "zero_out", "replace_one")),
        {"sampling": "truncated_poisson", "batch_limit": 16},
        {"unit": "user", "records_per_user": 2},
        FIXED,
    ],
)
@pytest.mark.parametrize("kind", [PLDAccountant, RDPAccountant])
def test_the_ledger_is_the_plan(scheme, kind):
    """At each step, with the releases that have begun."""
    planned = plan(**{"steps": 7, **scheme})
    sampler, accountant = planned.sampler(), kind(adjacency=planned.adjacency)
    optimizer, _ = made(planned, sampler=sampler, accountant=accountant)
    for number, batch in enumerate(sampler):
        optimizer.step(rows(1, len(batch)))
        begun = number // planned.steps_per_release + 1
        assert accountant.mechanisms == ((planned.step_mechanism, begun),)
    assert (optimizer.steps, begun) == (planned.steps, planned.releases)
    name = "pld" if kind is PLDAccountant else "rdp"
    assert optimizer.get_epsilon(DELTA) == planned.get_epsilon(DELTA, accountant=name)


def test_an_epoch_of_shuffled_batches_is_recorded_when_it_begins(monkeypatch):
    """And one more where one of its batches is interrupted."""
    optimizer, _ = made(plan(batch_size=300, **SHUFFLED))
    assert counted(optimizer, 6) == [1, 1, 1, 1, 2, 2]
    monkeypatch.setattr(module, "add_gaussian_noise", lambda *args, **kwargs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        optimizer.step()
    monkeypatch.undo()
    assert counted(optimizer, 5) == [3, 3, 4, 4, 4]


def test_an_epoch_is_recorded_where_the_sampler_says_it_begins():
    planned = plan(batch_size=300, **SHUFFLED)
    sampler = planned.sampler()
    optimizer, _ = made(planned, sampler=sampler)
    counts = []
    for _ in range(6):
        batches = [sampler.sample() for _ in range(2)]  # every other one is left out
        optimizer.discard()
        optimizer.step(rows(1, len(batches[1])))
        counts.append(optimizer.accountant.mechanisms[0][1])
    assert counts == [1, 1, 2, 2, 3, 3]


def test_a_sampler_of_another_scheme_is_refused():
    plans = [
        *(plan(), plan(batch_size=11), plan(population=1001), plan(**FIXED), plan(**SHUFFLED)),
        *(plan(sampling="truncated_poisson", batch_limit=limit) for limit in (16, 17)),
        plan(**CYCLIC),
        plan(sampling="balls_in_bins"),
        plan(sampling="fixed_order", adjacency="zero_out"),
        plan(sampling="min_separation", separation=5, adjacency="zero_out"),
    ]
    for one, other in itertools.permutations(plans, 2):
        with pytest.raises(ValueError, match="sampler must be one like that of the plan, "):
            made(one, sampler=other.sampler())


# --- budgets


@pytest.mark.parametrize("kind", [PLDAccountant, RDPAccountant])
def test_stops_at_the_budget(kind):
    budget = kind().compose(plan().step_mechanism, 25).get_epsilon(DELTA) * (1 + 1e-9)
    optimizer, weights = made(accountant=kind(), budget=(budget, DELTA))
    run(optimizer, 25)  # more than the plan has
    words = "the step must fit in the budget"
    untouched(optimizer, weights, BudgetExceededError, words, optimizer.step, rows(1))
    assert optimizer.get_epsilon(DELTA) <= budget


def test_a_budget_sees_what_others_record():
    accountant = PLDAccountant().compose(Gaussian(10.0))
    optimizer, weights = made(accountant=accountant, budget=(1.0, DELTA))
    optimizer.step(rows(1))
    assert optimizer.accountant is accountant
    assert accountant.mechanisms == ((Gaussian(10.0), 1), (plan().step_mechanism, 1))
    accountant.compose(Gaussian(0.5))
    untouched(optimizer, weights, BudgetExceededError, "epsilon 1 at delta 1e-5", optimizer.step)


def test_an_epoch_that_was_recorded_may_be_finished():
    planned = plan(batch_size=300, **SHUFFLED)
    once = PLDAccountant(adjacency="zero_out").compose(planned.step_mechanism).get_epsilon(DELTA)
    optimizer, _ = made(planned, budget=(once * (1 + 1e-9), DELTA))
    with pytest.raises(BudgetExceededError):
        run(optimizer, 9)
    assert optimizer.steps == 4


def test_parts_survive_a_refused_step():
    optimizer, _ = made(budget=(1e-3, DELTA))
    optimizer.accumulate(rows(1))
    with pytest.raises(BudgetExceededError):
        optimizer.step(rows(2))
    with pytest.raises(RuntimeError, match="got one that has begun"):
        optimizer.state_dict(secrets=True)


# --- updates


def test_adam_is_what_it_says():
    optimizer, weights = made(rule=Adam(0.01, 0.8, 0.95, 1e-6))
    w, m, v = np.zeros(3), np.zeros(3), np.zeros(3)
    for t in range(1, 6):
        g = optimizer.step(rows(t))[0]
        m, v = 0.8 * m + 0.2 * g, 0.95 * v + 0.05 * g**2
        w = w - 0.01 * (m / (1 - 0.8**t)) / (np.sqrt(v / (1 - 0.95**t)) + 1e-6)
    assert np.allclose(weights[0], w, rtol=1e-12)


def test_the_learning_rate_may_be_changed():
    optimizer, weights = made(plan(noise_multiplier=0.0))
    optimizer.rule = dataclasses.replace(optimizer.rule, learning_rate=0.0)
    optimizer.step(rows(1))
    assert np.all(weights[0] == 0.0)
    for rule in (Adam(), SGD(0.1, momentum=0.5)):
        with pytest.raises(ValueError, match="rule must be of the kind"):
            optimizer.rule = rule


# --- states


@pytest.mark.parametrize("rule", [SGD(0.1), SGD(0.1, momentum=0.9), Adam(0.01)])
@pytest.mark.parametrize("scheme", [{}, {**SHUFFLED, "batch_size": 300}, BINS, CYCLIC])
@pytest.mark.parametrize("stop", [0, 3, 4])
@pytest.mark.parametrize("moving", [False, True])
def test_resumes_bit_for_bit(rule, scheme, stop, moving):
    planned = plan(**scheme)
    size = planned.expected_batch_size
    norms = [QuantileClipNorm(1.0, expected_batch_size=size, count_noise=3.0) for _ in range(3)]
    generators = [seeded(k) for k in (1, 1, 2)]
    samplers = [planned.sampler(generator=generator) for generator in generators]
    (straight, a), (before, _), (after, b) = (
        made(planned, rule, sampler=s, generator=g, clip_norm=norm if moving else None)
        for s, g, norm in zip(samplers, generators, norms, strict=True)
    )
    for k in range(8):
        straight.step(rows(k, len(samplers[0].sample())))
        if k < stop:
            before.step(rows(k, len(samplers[1].sample())))
    state = before.state_dict(secrets=True)
    frozen = copy.deepcopy(state)
    after.load_state_dict(state)
    for k in range(stop, 8):
        after.step(rows(k, len(samplers[2].sample())))
    assert same(a, b)
    assert norms[0].value == norms[2].value
    assert moving == (norms[0].value != 1.0)
    ends = [optimizer.state_dict(secrets=True) for optimizer in (straight, after)]
    assert [end.pop("run") for end in ends][1] == state["run"]
    assert [end["secrets"].pop("run") for end in ends][1] == state["run"]
    assert same(*ends)
    assert straight.accountant.mechanisms == after.accountant.mechanisms
    assert same(state, frozen)  # is not tied to the optimiser that took it over


def test_another_run_is_no_continuation_of_ones_own():
    (one, _), (two, weights) = made(), made()
    run(one, 3)
    run(two, 2)
    state = one.state_dict(secrets=True)
    untouched(two, weights, ValueError, "must be of this run", two.load_state_dict, state)


def test_a_state_of_another_plan_is_refused_by_the_fields_that_differ():
    (one, _), (two, weights) = made(plan(steps=30, noise_multiplier=2.0)), made()
    message = (
        r"^state must hold the plan with noise_multiplier=1.0, steps=20, "
        r"got noise_multiplier=2.0, steps=30$"
    )
    state = one.state_dict(secrets=True)
    untouched(two, weights, ValueError, message, two.load_state_dict, state)


def test_states_say_whether_there_was_a_sampler():
    (one, a), (two, b) = made(sampler=plan().sampler(generator=seeded())), made()
    first, second = (optimizer.state_dict(secrets=True) for optimizer in (one, two))
    give = r"saved with a sampler: give DPSGD sampler=plan.sampler()"
    untouched(two, b, ValueError, give, two.load_state_dict, first)
    leave = "got one that was saved without: make DPSGD without it"
    untouched(one, a, ValueError, leave, one.load_state_dict, second)


def test_a_state_survives_json():
    optimizer, weights = made(rule=Adam(0.01))
    optimizer.step(rows(1))
    text = json.dumps(optimizer.state_dict(secrets=True), default=lambda array: array.tolist())
    other, loaded = made(rule=Adam(0.5))
    other.load_state_dict(json.loads(text))
    assert same(weights, loaded)
    assert other.rule == Adam(0.01)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("plan", {}, "state must hold the plan"),
        ("clipping", {"clipping": "automatic"}, "state must hold the clipping"),
        ("rule", {"kind": "Adam"}, "state must hold a rule"),
        ("rule", dataclasses.asdict(SGD(0.1, 0.5)) | {"kind": "SGD"}, "rule must be of the"),
        ("parameters", [np.zeros(3)], "state must hold parameters"),
        ("parameters", [np.zeros(4), np.zeros((2, 2))], "state must hold parameters"),
        ("slots", [], "state must hold slots"),
        ("slots", [[np.zeros(3)], []], "state must hold slots"),
        ("steps", -1, "steps must be"),
        ("releases", -1, "releases must be"),
        ("releases", 0, "state must hold at least 1 releases"),
        ("steps", 7, "state must hold at least 7 releases"),
        ("interrupted", -1, "interrupted must be"),
        ("interrupted", 1, "state must hold at least 2 releases"),  # both have been begun
        ("sampler", None, "state must hold a sampler"),
        ("sampler", {}, "state must hold sampler"),
        ("generator", {}, "state must hold generator"),
        (
            "generator",
            SecureGenerator().state_dict(secrets=True),
            "state must be that of a reproducible",
        ),
    ],
)
def test_bad_states(name, value, message):
    sampler = plan().sampler(generator=seeded())
    optimizer, weights = made(sampler=sampler)
    optimizer.step(rows(1, len(sampler.sample())))
    state = {**optimizer.state_dict(secrets=True), name: value}
    untouched(optimizer, weights, ValueError, message, optimizer.load_state_dict, state)


def test_a_state_with_a_bad_sampler_leaves_the_generator_alone():
    optimizer, weights = made(sampler=plan().sampler())
    state = {**optimizer.state_dict(secrets=True), "sampler": {}}
    state["secrets"]["generator"] = seeded(9).state_dict(secrets=True)["secrets"]
    untouched(optimizer, weights, ValueError, "state must hold", optimizer.load_state_dict, state)


# --- bad input


TWO, ONE = [(3,), (2, 2)], (10,)  # shapes of parameters: a list, and one array
LISTED = r"be a list of arrays \[\(B, 3\), \(B, 2, 2\)\], got"
GHOST = ghost_clip_and_sum([LinearLayer(np.ones((4, 5)), np.ones((4, 2)))], 1.0)


@pytest.mark.parametrize(
    ("shapes", "grads", "message"),
    [
        (TWO, rows(1, 10, [(3,)]), LISTED + " a list of"),
        (TWO, rows(1)[0], LISTED),
        (TWO, rows(1, 10, [(3,), (2, 3)]), LISTED),
        (TWO, [rows(1, 9)[0], rows(1)[1]], "have as many rows"),
        (TWO, [np.ones((2, 3), int), np.ones((2, 2, 2))], "be an array of float"),
        (TWO, [], "at least one, got an empty list"),
        (TWO, [np.ones(3), np.ones((2, 2))], r"\(B, 3\), \(B, 2, 2\), got \(3,\), "),
        (ONE, [np.ones((5, 10))], r"an array \(B, 10\), got a list of .*both be lists, or neith"),
        ([ONE], np.ones((5, 10)), r"a list of arrays \[\(B, 10\)\], got an array .*both be lists"),
        (ONE, np.ones(10), r"each record, \(B, 10\), got \(10,\): a mean or a sum cannot be cl"),
        (
            [(2, 5), (2,)],
            GHOST,
            r"sums \[\(2, 5\), \(2,\)\], got .* weights of ghost sums are \(inputs, outputs\)",
        ),
    ],
)
def test_bad_gradients_change_nothing_and_messages_say_what_was_meant(shapes, grads, message):
    weights = [np.zeros(shape) for shape in (shapes if isinstance(shapes, list) else [shapes])]
    given = weights if isinstance(shapes, list) else weights[0]
    optimizer = DPSGD(given, plan(), Adam(), generator=seeded())
    optimizer.step()
    error = TypeError if "float" in message else ValueError
    for act in (optimizer.step, optimizer.accumulate):
        words = "per_sample_grads.* must .*" + message
        untouched(optimizer, weights, error, words, act, grads)


def test_debugging_refusal_changes_nothing():
    optimizer, weights = made(nonfinite="raise")
    bad = rows(1)
    bad[0][2] = math.nan
    untouched(optimizer, weights, ValueError, "first 2", optimizer.step, bad)


@pytest.mark.parametrize("count", [0, 9, 11])
def test_a_batch_of_fixed_size_has_that_size(count):
    optimizer, weights = made(plan(**FIXED))
    untouched(optimizer, weights, ValueError, "must have 10 rows", optimizer.step, rows(1, count))
    optimizer.accumulate(rows(1, 4)).step(rows(2, 6))
    assert optimizer.steps == 1


@pytest.mark.parametrize(
    ("scheme", "most"), [({}, 1000), (FIXED, 10), ({**SHUFFLED, "batch_size": 300}, 250)]
)
def test_a_batch_is_no_larger_than_its_public_size(scheme, most):
    optimizer, weights = made(plan(**scheme))
    for act in (optimizer.step, optimizer.accumulate):
        message = rf"must have (at most )?{most} rows to a batch, got more"
        untouched(optimizer, weights, ValueError, message, act, rows(1, most + 1))
    optimizer.step(rows(1, most))


@pytest.mark.parametrize("scheme", [{}, FIXED, {**SHUFFLED, "batch_size": 300}])
def test_a_batch_is_no_larger_than_what_its_sampler_has_drawn(scheme):
    planned = plan(**scheme)
    sampler = planned.sampler(generator=seeded())
    optimizer, weights = made(planned, sampler=sampler)
    drawn = len(sampler.sample())
    for act in (optimizer.step, optimizer.accumulate):
        untouched(optimizer, weights, ValueError, "per_sample_grads", act, rows(1, 1000))
    optimizer.accumulate(rows(1, drawn - 2))
    for act, count, word in (
        *((act, 3, "more") for act in (optimizer.step, optimizer.accumulate)),
        (optimizer.step, 1, "fewer"),  # it does not say how many
    ):
        with pytest.raises(ValueError, match=rf"got {word}(: take gradients of x.*)?$"):
            act(rows(1, count))
    optimizer.step(rows(1, 2))
    assert optimizer.private.batch_size == drawn
    assert optimizer.accountant.mechanisms == ((planned.step_mechanism, 1),)


READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False
WHOLE = np.zeros(4)
OTHER = PLDAccountant(adjacency="zero_out")


def of(weights, planned=None):
    return lambda: DPSGD(weights, planned or plan(), SGD(0.1))


def given(**settings):
    return lambda: made(**settings)


REFUSED = {
    ValueError: [
        (lambda: SGD(-1.0), r"learning_rate must be a number in \[0, inf\), got -1.0"),
        (lambda: SGD(0.1, momentum=1.0), r"momentum must be a number in \[0, 1\), got 1.0"),
        (lambda: Adam(math.inf), "learning_rate must be"),
        (lambda: Adam(beta2=1.0), "beta2 must be"),
        (lambda: Adam(stability=0.0), r"stability must be a number in \(0, inf\), got 0.0"),
        (of([]), "parameters must be an array or a list of at least one"),
        (of(READ_ONLY), "parameters must be writeable"),
        (of(np.broadcast_to(1.0, 3)), "parameters must be"),
        (of(WHOLE, plan(noise_multiplier=1e300, max_grad_norm=2.0**96)), "scale must be"),
        (given(accountant=OTHER), "adjacency of the plan"),
        (given(budget=(0.0, DELTA)), "budget epsilon must be a number in"),
        (given(budget=(1.0, 2.0)), "budget delta must be a number in"),
        (given(clipping="none"), "clipping must be one of"),
        (given(threads=0), "threads must be"),
        (given(nonfinite="skip"), "nonfinite must be"),
    ],
    TypeError: [
        (of(1.0), "parameters must be an array of float32 or float64, got float"),
        (of(np.zeros(3, int)), "float32 or float64, got int64"),
        (of([np.zeros(3), [0.0]]), r"parameters\[1\] must be an array"),
        (given(planned=3), "plan must be a TrainingPlan, of no class of its own, got 3"),
        (given(rule=0.1), "rule must be an UpdateRule"),
        (given(accountant="pld"), "accountant must be a PLDAccountant or"),
        (given(budget=1.0), "budget must be a pair"),
        (given(generator=1), "generator must be"),
        (given(sampler=range(3)), "sampler must be one like that of the plan"),
    ],
}
test_bad_arguments = refused(REFUSED)


# --- threads, and batches that are not the sampler's


def test_one_thread_at_a_time():
    optimizer, _ = made()
    entered, leave = threading.Event(), threading.Event()

    class Waits:
        dtype = np.dtype(float)
        shape = (1, 3)

        def __array__(self, *args, **kwargs):
            entered.set()
            leave.wait(10)
            return np.ones((1, 3))

    worker = threading.Thread(target=lambda: optimizer.step([Waits(), np.ones((1, 2, 2))]))
    worker.start()
    entered.wait(10)
    for call in (optimizer.step, optimizer.discard, lambda: optimizer.accumulate(rows(1))):
        with pytest.raises(RuntimeError, match="one thread at a time"):
            call()
    leave.set()
    worker.join()
    assert optimizer.steps == 1


@pytest.mark.parametrize("scheme", [{}, {**SHUFFLED, "batch_size": 300}])
def test_every_step_needs_a_batch_of_its_own(scheme):
    planned = plan(**scheme)
    sampler = planned.sampler(generator=seeded())
    optimizer, weights = made(planned, sampler=sampler)
    for used in range(3):
        words = f"got {used} drawn and {used} used"
        untouched(optimizer, weights, RuntimeError, words, optimizer.step, rows(1, 4))
        optimizer.step(rows(1, len(sampler.sample())))


def test_interrupted_steps_of_a_state_are_recorded():
    """By hand: a state that says less than was begun is refused."""
    (one, _), (two, _) = made(), made(budget=(50.0, DELTA))
    run(one, 2)
    state = one.state_dict(secrets=True)
    state["secrets"]["begun"] += 3
    with pytest.raises(ValueError, match="state must hold at least 5 releases, got 2"):
        two.load_state_dict({**state, "interrupted": 3})
    two.load_state_dict(one.state_dict(secrets=True))
    assert two.accountant.mechanisms == ((plan().step_mechanism, 2),)
    two.load_state_dict({**state, "interrupted": 3, "releases": 5, "recorded": [5]})  # 3 are new
    assert two.accountant.mechanisms == ((plan().step_mechanism, 5),)
    two.step()
    assert two.accountant.mechanisms == ((plan().step_mechanism, 6),)


def test_lists_of_scalar_parameters():
    weights = [np.zeros(()), np.zeros(())]
    optimizer = DPSGD(weights, plan(noise_multiplier=0.0, max_grad_norm=100.0), SGD(1.0))
    optimizer.step([np.ones(4), np.full(4, 2.0)])
    assert [float(w) for w in weights] == [-0.4, -0.8]
