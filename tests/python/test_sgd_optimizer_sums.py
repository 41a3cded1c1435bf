"""DP-SGD by sums that were clipped elsewhere, and by parameters with rules of their own."""

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest

from renyi._training import fingerprint
from renyi.noise import SecureGenerator
from renyi.sgd import (
    DPSGD,
    SGD,
    Adam,
    ClipAccumulator,
    Grid,
    QuantileClipNorm,
    TrainingPlan,
    UpdateRule,
    clip_and_sum,
)
from renyi.sgd.updates import Parameters

RNG = np.random.default_rng(5)


def plan(**settings):
    given = {"batch_size": 10, "steps": 50, "noise_multiplier": 1.0, "max_grad_norm": 0.5}
    return TrainingPlan(1000, **{**given, **settings})


def made(weights, planned, **settings):
    generator = SecureGenerator(insecure_reproducible=3)
    return DPSGD(weights, planned, SGD(0.1), generator=generator, **settings)


def norm_for(planned, **settings):
    given = {"expected_batch_size": planned.expected_batch_size, "count_noise": 0.75}
    return QuantileClipNorm(planned.max_grad_norm, **{**given, **settings})


# --- sums from elsewhere


@pytest.mark.parametrize(
    ("size", "settings", "error", "message"),
    [
        (4, {"max_grad_norm": 0.6}, ValueError, "max_grad_norm must be the same"),
        (4, {"clipping": "automatic"}, ValueError, "clipping must be the same"),
        (4, {"adjacency": "replace_one"}, ValueError, "adjacency must be the same"),
        (4, {"dtype": "f4"}, TypeError, "per_sample_grads must be sums of float64, got one of"),
        (5, {}, ValueError, r"per_sample_grads must be a sum \(4,\), got a sum \(5,\)"),
    ],
)
def test_sums_clipped_otherwise_are_refused(size, settings, error, message):
    weight = np.zeros(4)
    optimizer = made(weight, plan())
    for act in (optimizer.step, optimizer.accumulate):
        with pytest.raises(error, match=message):
            act(clip_and_sum(np.ones((3, size)), **{"max_grad_norm": 0.5, **settings}))
    assert optimizer.steps == 0
    assert optimizer.accountant.mechanisms == ()
    assert not weight.any()


# --- a clipping norm that moves


def test_the_norm_moves_to_the_quantile_and_the_sum_follows():
    planned = plan(batch_size=200, steps=200, noise_multiplier=0.5)
    norm = norm_for(planned, target_quantile=0.5, learning_rate=0.3, count_noise=2.0)
    optimizer = made(np.zeros(2), planned, clip_norm=norm)
    sizes = np.linspace(1.0, 9.0, 200)  # median 5
    directions = np.full((200, 2), math.sqrt(0.5))
    for _ in range(60):
        optimizer.step(sizes[:, None] * directions)
    assert optimizer.max_grad_norm == norm.value
    assert abs(norm.value - 5.0) < 0.4


def test_the_released_count_has_its_noise():
    planned = plan()
    counts = []
    for seed in range(400):
        norm = norm_for(planned, learning_rate=1.0)
        generator = SecureGenerator(insecure_reproducible=seed)
        DPSGD(np.zeros(1), planned, SGD(0.1), clip_norm=norm, generator=generator).step(
            np.full((6, 1), 0.25)
        )
        # log(C' / C) = -(count / 10 + 1/2 - 1/2), count = 6 / 2 + noise
        counts.append(-10.0 * math.log(norm.value / 0.5))
    assert abs(np.mean(counts) - 3.0) < 5 * 0.75 / math.sqrt(400)
    assert abs(np.std(counts) / 0.75 - 1) < 5 / math.sqrt(800)


@pytest.mark.parametrize("bad", [None, {"value": 0.5}, "0.5"])
def test_states_without_a_norm_are_refused_and_change_nothing(bad):
    planned = plan()
    weight, norm = np.zeros(3), norm_for(planned)
    optimizer = made(weight, planned, clip_norm=norm)
    state = {**made(np.ones(3), planned, clip_norm=norm_for(planned)).state_dict(secrets=True)}
    state["clip_norm"] = bad
    with pytest.raises(ValueError, match=r"clip_norm|settings|mapping"):
        optimizer.load_state_dict(state)
    assert norm.value == 0.5
    assert not weight.any()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"clip_norm": 0.5}, TypeError, "clip_norm must be a QuantileClipNorm"),
        ({"clip_norm": QuantileClipNorm(2.0, expected_batch_size=10)}, ValueError, "begin at"),
        (
            {"clip_norm": QuantileClipNorm(0.5, expected_batch_size=11)},
            ValueError,
            "clip_norm must have the expected_batch_size of the plan, 10.0, got 11.0",
        ),
        ({"clipping": "automatic"}, ValueError, "clipping must be 'flat'"),
    ],
)
def test_arguments_that_do_not_go_with_a_moving_norm(settings, error, message):
    planned = plan()
    with pytest.raises(error, match=message):
        made(np.zeros(3), planned, **{"clip_norm": norm_for(planned), **settings})
    used = norm_for(planned)
    made(np.zeros(3), planned, clip_norm=used).step(np.ones((4, 3)))
    with pytest.raises(ValueError, match="one that has been used is to be made anew"):
        made(np.zeros(3), planned, clip_norm=used)
    loud = plan(noise_multiplier=4.0)
    with pytest.raises(ValueError, match="noise_multiplier must be less than that of count_noise"):
        made(np.zeros(3), loud, clip_norm=norm_for(loud, count_noise=1.0))


def test_a_norm_shows_its_settings():
    assert repr(norm_for(plan())) == (
        "<QuantileClipNorm: 0.5, expected_batch_size=10, target_quantile=0.5, learning_rate=0.2, "
        "count_noise=0.75>"
    )


def test_sums_without_norms_move_the_clipping_norm_and_count_towards_a_fixed_size():
    planned = plan(sampling="fixed_size", adjacency="replace_one")
    one, two = (norm_for(planned) for _ in range(2))
    grads = RNG.normal(size=(10, 4))
    nine, sums = (clip_and_sum(grads[:n], 0.5, adjacency="replace_one") for n in (9, 10))
    optimizer = made(np.zeros(4), planned, clip_norm=one)
    with pytest.raises(ValueError, match="must have 10 rows"):
        optimizer.step(nine)
    optimizer.step(sums)
    made(np.zeros(4), planned, clip_norm=two).step(sums.without_diagnostics())
    assert one.value == two.value != 0.5


@pytest.mark.parametrize(("adjacency", "moves"), [("add_remove", 0.5), ("zero_out", 1.0)])
def test_sum_and_count_together_cost_what_the_plan_says(adjacency, moves):
    """z^-2 = (C / noise of the sum)^2 + (change of the count / its noise)^2."""
    planned = plan(noise_multiplier=0.7, adjacency=adjacency)
    optimizer = made(np.zeros(100_000), planned, clip_norm=norm_for(planned))
    noise = optimizer.step(np.zeros((0, 100_000))).std() * planned.expected_batch_size
    found = ((0.5 / noise) ** 2 + (moves / 0.75) ** 2) ** -0.5
    assert abs(found / 0.7 - 1) < 0.012
    assert optimizer.accountant.mechanisms == ((planned.step_mechanism, 1),)


# --- memory that is written to after it was clipped


REFUSED = "must be as it was clipped, got a sum that was changed since"


def noiseless_plan(**settings):
    return TrainingPlan(100, 4, steps=100, noise_multiplier=0.0, **settings)


def made_for_sums(**settings):
    return DPSGD(np.zeros(3), noiseless_plan(**settings), SGD(1.0))


def one_row(**settings):
    return clip_and_sum(np.ones((1, 3)), 1.0, **settings)


def scaled(clipped):
    clipped.sum[...] *= 100.0


def negated(clipped):
    np.negative(clipped.sum, out=clipped.sum)


def swapped(clipped):
    clipped.sum[:] = clipped.sum[::-1] + np.arange(3)


def counted_otherwise(clipped):
    clipped.private.factors[...] = 1.0


@pytest.mark.parametrize("change", [scaled, negated, swapped, counted_otherwise])
def test_a_changed_sum_releases_nothing(change):
    optimizer = made_for_sums()
    clipped = one_row()
    change(clipped)
    for act in (optimizer.step, optimizer.accumulate):
        with pytest.raises(ValueError, match=f"per_sample_grads {REFUSED}"):
            act(clipped)
    for use in (lambda: clipped + one_row(), clipped.without_diagnostics):
        with pytest.raises(ValueError, match=REFUSED):
            use()
    assert optimizer.accountant.mechanisms == ()


def test_a_sum_changed_after_it_was_accumulated_changes_nothing():
    norm = QuantileClipNorm(1.0, expected_batch_size=4, count_noise=0.75)
    planned = TrainingPlan(100, 4, steps=100, noise_multiplier=1.0)
    w = np.zeros(3)
    optimizer = DPSGD(w, planned, SGD(1.0), clip_norm=norm)
    clipped = one_row()
    optimizer.accumulate(clipped)
    scaled(clipped)
    counted_otherwise(clipped)
    part = optimizer._sum.parts.take()
    assert np.array_equal(part.sum, one_row().sum)
    assert np.array_equal(part.private.factors, one_row().private.factors)


def test_memory_used_again_for_the_next_part_is_not_counted_twice():
    memory = np.empty(3)
    first = one_row(out=memory)
    second = clip_and_sum(-np.ones((1, 3)), 1.0, out=memory)
    with pytest.raises(ValueError, match=REFUSED):
        first + second
    assert np.array_equal(made_for_sums().step(second), -one_row().sum / 4)


def test_sums_that_travel_are_the_same():
    for sums in (one_row(), one_row().without_diagnostics(), one_row(dtype="f4")):
        for other in (pickle.loads(pickle.dumps(sums)), copy.deepcopy(sums)):
            assert np.array_equal(other.unchanged().sum, sums.sum)
            scaled(other)
            with pytest.raises(ValueError, match=REFUSED):
                other.unchanged()


def test_sums_on_a_grid_and_in_lists_are_watched_too():
    on_grid = ClipAccumulator((3,), 1.0, grid=Grid(2.0**-10)).add(np.ones((2, 3))).take()
    on_grid.sum[0] += 1
    listed = clip_and_sum([np.ones((2, 3)), np.ones((2, 1))], 1.0)
    listed.sum[1] = listed.sum[1] * 2.0
    for sums in (on_grid, listed):
        with pytest.raises(ValueError, match=REFUSED):
            sums.unchanged()


def test_a_fingerprint_sees_every_bit_and_every_exchange():
    rng = np.random.default_rng(1)
    for size in (1, 7, 8, 9, 64, 65):
        array = rng.normal(size=size)
        seen = {fingerprint(array, 0), fingerprint(array, 1)}
        for index in range(size):
            for bit in range(64):
                changed = array.view(np.uint64).copy()
                changed[index] ^= np.uint64(1 << bit)
                seen.add(fingerprint(changed, 0))
        for index in range(size - 1):
            changed = array.copy()
            changed[[index, index + 1]] = changed[[index + 1, index]]
            seen.add(fingerprint(changed, 0))
        assert len(seen) == 2 + 64 * size + size - 1
        assert fingerprint(np.append(array, 0.0), 0) not in seen


# --- parameters and their rules


class Plain(UpdateRule):
    slots = 0

    def __init__(self, learning_rate):
        self.learning_rate = learning_rate

    def update(self, parameter, gradient, slots, step):
        parameter -= self.learning_rate * gradient


@dataclasses.dataclass(frozen=True)
class Saved(Plain):
    learning_rate: float


class Louder(SGD):
    """Without fields of its own."""

    def update(self, parameter, gradient, slots, step):
        super().update(parameter, 2 * gradient, slots, step)


def test_a_rule_that_cannot_be_saved_is_refused_at_the_start():
    plan = TrainingPlan(100, 10, noise_multiplier=1.0, steps=3)
    with pytest.raises(TypeError, match="rule must be a dataclass, whose fields are the settings"):
        DPSGD(np.zeros(3), plan, Plain(0.1))
    with pytest.raises(TypeError, match="rule must be an UpdateRule"):
        Parameters(np.zeros(3), Saved)


@pytest.mark.parametrize("rule", [Saved(0.5), Louder(0.5), Louder(0.5, momentum=0.5)])
def test_a_rule_of_the_users_own_is_saved_and_made_again(rule):
    first, second = np.zeros(3), np.zeros(3)
    trained, resumed = Parameters(first, rule), Parameters(second, rule)
    trained.update([np.ones(3)])
    resumed.restore(resumed.checked(trained.state_dict()))
    assert resumed.rule == rule
    for parameters in (trained, resumed):
        parameters.update([np.ones(3)])
    assert np.array_equal(first, second)
    assert first.any()


@pytest.mark.parametrize("name", ["rule", "steps", "parameters", "slots"])
@pytest.mark.parametrize("value", [None, "missing", 3, [None], [3], {}, -1])
def test_states_that_do_not_fit_are_refused_and_change_nothing(name, value):
    array = np.ones(3)
    parameters = Parameters([array], Adam())
    parameters.update([np.full(3, 0.5)])
    state = parameters.state_dict()
    if name == "steps" and value == 3:
        value = 3.5
    if value == "missing":
        del state[name]
    else:
        state[name] = value
    before, kept = parameters.state_dict(), array.copy()
    with pytest.raises((TypeError, ValueError), match=r"(state|steps) must") as caught:
        parameters.checked(state)
    if value is None or value == "missing":
        assert isinstance(caught.value, ValueError)
        assert f"got one without {name}" in str(caught.value)
    assert np.array_equal(array, kept)
    after = parameters.state_dict()
    assert (after["steps"], after["rule"]) == (before["steps"], before["rule"])
    assert np.array_equal(after["slots"], before["slots"])
    for other in (None, [], 3):
        with pytest.raises(ValueError, match="state must be a mapping that holds rule, steps"):
            parameters.checked(other)
