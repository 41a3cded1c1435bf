"""Parameters and their rules: what is refused at the start, and states that do not fit."""

import dataclasses

import numpy as np
import pytest

from renyi.sgd import DPSGD, SGD, Adam, TrainingPlan, UpdateRule
from renyi.sgd.updates import Parameters


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


def test_what_is_no_state_is_refused():
    for state in (None, [], 3):
        with pytest.raises(ValueError, match="state must be a mapping that holds rule, steps"):
            Parameters(np.ones(3), SGD(0.1)).checked(state)
