"""The accounting of one run: recorded beforehand, within a budget, never taken back."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from renyi._validation import count_of
from renyi.accountants import PLDAccountant, RDPAccountant
from renyi.sgd._batch_sampler import BatchSampler
from renyi.sgd._budget import Budget
from renyi.sgd._generator import SecureGenerator
from renyi.sgd._plan_arguments import accountant_named
from renyi.sgd.plan import TrainingPlan

__all__ = ["Ledger"]


class Ledger:
    """Records the step mechanism of a plan, once for as many steps as it stands for.

    Attributes
    ----------
    accountant : PLDAccountant or RDPAccountant
        What it records with.
    releases : int
        How often it has.
    interrupted : int
        Steps that were recorded and not finished. Whether they released something is not known, and
        each may have left a batch behind: for each of them one release more is recorded.
    """

    def __init__(self, plan: TrainingPlan, accountant: Any, budget: Any, sampler: Any) -> None:
        if accountant is None:
            accountant = accountant_named(None, plan.grid is not None)(adjacency=plan.adjacency)
        if not isinstance(accountant, PLDAccountant | RDPAccountant):
            raise TypeError(
                f"accountant must be a PLDAccountant or an RDPAccountant, got {accountant!r}"
            )
        if accountant.adjacency != plan.adjacency:
            raise ValueError(
                f"accountant must have the adjacency of the plan, {plan.adjacency!r}, "
                f"got {accountant.adjacency!r}"
            )
        self.accountant: PLDAccountant | RDPAccountant = accountant
        self.releases = self.interrupted = 0
        self._run = secrets.token_hex(16)
        self._sampler = _sampler_of(sampler, plan)
        self._population = plan.population
        self._planned = plan.releases
        self._steps_per_release = plan.steps_per_release
        self._mechanism = plan.step_mechanism
        accountant.compose(self._mechanism, 0)  # raises if it cannot be accounted for
        self._budget = None if budget is None else Budget(budget, accountant)

    @property
    def largest_batch(self) -> int:
        """Rows that a batch may have: of the largest from the sampler, or of the population."""
        return self._population if self._sampler is None else self._sampler._largest_batch

    def check(self, steps: int) -> None:
        """Raise if another step after ``steps`` has no batch of its own or does not fit."""
        used = steps + self.interrupted
        if self._sampler is not None and self._sampler.drawn <= used:
            raise RuntimeError(
                "a batch must be drawn from the sampler for each step, got "
                f"{self._sampler.drawn} drawn and {used} used"
            )
        if self._budget is not None and (needed := self._due(steps)):
            self._budget.check(self._mechanism, needed, self._planned - self.releases)

    def record(self, steps: int) -> None:
        """Record what another step after ``steps`` releases, as far as it has not been yet."""
        count = self._due(steps)
        if not count:
            return
        if self._budget is None:
            self.accountant.compose(self._mechanism, count)
        else:
            self._budget.charge(self._mechanism, count)
        self.releases += count

    def state_dict(self) -> dict[str, Any]:
        """Return the counts, the name of the run, and the state of the sampler."""
        return {
            "run": self._run,
            "releases": self.releases,
            "interrupted": self.interrupted,
            "sampler": None if self._sampler is None else self._sampler.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any], generator: SecureGenerator) -> None:
        """Record what was released elsewhere and not here; the sampler and a generator go on.

        If there is an error, nothing has happened.
        """
        run, releases, interrupted = self._checked(state)
        before = generator.state_dict()
        generator.load_state_dict(state["generator"])
        if self._sampler is not None:
            try:
                self._sampler.load_state_dict(state["sampler"])
            except BaseException:
                generator.load_state_dict(before)
                raise
        self.accountant.compose(self._mechanism, releases - self.releases)
        self._run, self.releases, self.interrupted = run, releases, interrupted

    def _checked(self, state: Mapping[str, Any]) -> tuple[str, int, int]:
        wanted = ("run", "releases", "interrupted", "steps", "sampler", "generator")
        if missing := [name for name in wanted if name not in state]:
            raise ValueError(f"state must hold {', '.join(wanted)}, got none of {missing}")
        releases, interrupted, steps = (
            count_of(state[k], k) for k in ("releases", "interrupted", "steps")
        )
        if self.releases and state["run"] != self._run:
            raise ValueError(
                "state must be of this run, for it has released something, or the optimiser be new"
            )
        least = max(self.releases, -(-steps // self._steps_per_release))
        if releases < least:
            raise ValueError(f"state must hold at least {least} releases, got {releases}")
        if self._sampler is None and state["sampler"] is not None:
            raise ValueError(
                "state must hold no sampler where DPSGD has none; the state was saved with a "
                "sampler: give DPSGD sampler=plan.sampler()"
            )
        if self._sampler is not None and state["sampler"] is None:
            raise ValueError(
                f"state must hold a sampler, {self._sampler!r}, got one that was saved without: "
                "make DPSGD without it"
            )
        return str(state["run"]), releases, interrupted

    def _due(self, steps: int) -> int:
        """Return how many releases are to be recorded before another step after ``steps``."""
        begun = steps // self._steps_per_release + 1
        if self._sampler is not None and self._steps_per_release > 1:
            begun = max(begun, -(-self._sampler.drawn // self._steps_per_release))
        return max(begun + self.interrupted - self.releases, 0)


def _sampler_of(value: Any, plan: TrainingPlan) -> BatchSampler | None:
    if value is None:
        return None
    if not isinstance(value, BatchSampler):
        raise TypeError(f"sampler must be one like that of the plan, got {value!r}")
    planned = plan.sampler()
    if value._settings() != planned._settings():
        raise ValueError(f"sampler must be one like that of the plan, {planned!r}, got {value!r}")
    return value
