"""The callback by which a training loop of any framework charges its steps."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from renyi._rounding import refusal
from renyi._search import largest_count
from renyi._strict_json import check_names, check_version
from renyi._validation import POSITIVE, integer_of, number_in, probability_of, uses_of
from renyi.accountants import PLDAccountant, RDPAccountant
from renyi.filters import BudgetExceededError
from renyi.mechanisms import Composed, Mechanism
from renyi.report import Report, privacy_report

Log = Callable[[Mapping[str, float]], object]


class StepCallback:
    """Charges the steps of a training before they are taken, and ends the training at its budget.

    It is independent of frameworks; `renyi.compat` has wrappers for some. A custom loop calls
    `would_exceed` before a step and then `compose`, before it releases anything of the step.

    Args:
        mechanism: The mechanism of a step, such as ``PoissonSampled(Gaussian(1.0), 0.01)``. By
            default the mechanism that was composed last.
        epsilon, delta: The budget: epsilon in (0, inf], delta in [0, 1). With inf the training does
            not end.
        accountant: The accountant that records the steps, in addition to its earlier mechanisms; by
            default a new PLDAccountant.
        charge: Called with a mechanism and a count before they are recorded, such as
            ``functools.partial(ledger.charge, "the data set")``; an exception ends the training.
        run: A name of the run for ``charge``, which also gets the number of earlier charges, so
            that a `renyi.Ledger` refuses a state that another run has continued.
        log: Called with `metrics` after every ``every``-th step.
        every: Number of steps between two calls of ``log``, at least 1.
        statement: The file that `end` writes `report` to, as HTML if the name ends in ".html", else
            as Markdown.

    Raises:
        TypeError, ValueError: If an argument is not as above.

    The accountant composes mechanisms that were fixed beforehand: a schedule of noise may depend on
    the step, not on earlier outputs. Where it does, charge a `renyi.Ledger`, whose guarantee covers
    that. Stopping earlier, for any reason, keeps within the budget.

    >>> from renyi import Gaussian, PoissonSampled
    >>> steps = StepCallback(PoissonSampled(Gaussian(1.0), 0.01), epsilon=1.0, delta=1e-5)
    >>> while not steps.would_exceed():
    ...     _ = steps.compose()  # then add the noise and move the model
    >>> len(steps), round(steps.get_epsilon(), 4)
    (254, 0.9997)
    """

    def __init__(
        self,
        mechanism: Mechanism | None = None,
        *,
        epsilon: float,
        delta: float,
        accountant: PLDAccountant | RDPAccountant | None = None,
        charge: Callable[..., object] | None = None,
        run: str | None = None,
        log: Log | None = None,
        every: int = 100,
        statement: str | os.PathLike[str] | None = None,
    ) -> None:
        if accountant is not None and not isinstance(accountant, PLDAccountant | RDPAccountant):
            raise TypeError(f"accountant must be one of renyi, got {accountant!r}")
        if run is not None and charge is None:
            raise ValueError(f"run must come with a charge that is told of it, got {run!r} alone")
        self.epsilon = number_in(epsilon, "epsilon", POSITIVE)
        self.delta = probability_of(delta, "delta")
        self.accountant = PLDAccountant() if accountant is None else accountant
        self.accountant.compose(mechanism or Composed(), 0)  # raises
        self._mechanism = mechanism
        self._charge, self._run = charge, run
        self._log, self._every = log, integer_of(every, "every", 1)
        self._statement = None if statement is None else Path(statement)
        self._steps = 0
        self._known: tuple[Any, int] = (None, 0)  # the recorded state, and the steps that still fit

    def __len__(self) -> int:
        """Return the number of steps."""
        return self._steps

    def __bool__(self) -> bool:
        """Return True, even before the first step."""
        return True

    def would_exceed(self, mechanism: Mechanism | None = None, count: int = 1) -> bool:
        """Return whether ``count`` more steps would exceed the budget; nothing is recorded.

        Raises:
            UnsupportedMechanismError, TypeError, ValueError: As `compose`.
        """
        step, number = self._of(mechanism), uses_of(count)
        with self.accountant.lock:
            return self._fits(step, number) < number

    def compose(self, mechanism: Mechanism | None = None, count: int = 1) -> StepCallback:
        """Charge and record steps that are about to be taken, and return the callback.

        Raises:
            BudgetExceededError: If they would exceed the budget; nothing is charged or recorded
                then, nor after the errors below.
            UnsupportedMechanismError, TypeError, ValueError: If the accountant does not take the
                mechanism, there is none, or ``count`` is not a number in [0, 10^9]. Errors of
                ``charge`` are raised, too.
        """
        step, number = self._of(mechanism), uses_of(count)
        with self.accountant.lock:
            fitting = self._fits(step, number)
            if fitting < number:
                raise self._refusal(step, number)
            if number and self._charge is not None:
                self.accountant.compose(step, 0)  # raises
                named = {} if self._run is None else {"run": self._run, "step": self._steps}
                self._charge(step, number, **named)
            self.accountant.compose(step, number)
            self._mechanism = step
            self._steps += number
            self._known = (self._asked(step), fitting - number)
        if self._log is not None and number and self._steps % self._every < number:
            self._log(self.metrics())
        return self

    def get_epsilon(self, delta: float | None = None) -> float:
        """Return epsilon of the recorded steps, rounded up; by default at the budget's delta."""
        return self.accountant.get_epsilon(self.delta if delta is None else delta)

    def get_delta(self, epsilon: float | None = None) -> float:
        """Return delta of the recorded steps, rounded up; by default at the budget's epsilon."""
        return self.accountant.get_delta(self.epsilon if epsilon is None else epsilon)

    def get_privacy_spent(self, delta: float | None = None) -> tuple[float, float]:
        """Return epsilon of the recorded steps, rounded up, and its delta."""
        return self.get_epsilon(delta), self.delta if delta is None else delta

    def metrics(self) -> dict[str, float]:
        """Return the spent epsilon and its delta by name, for loggers."""
        return dict(zip(("epsilon", "delta"), self.get_privacy_spent(), strict=True))

    def state_dict(self) -> dict[str, Any]:
        """Return the recorded mechanisms in a form for JSON."""
        recorded = json.loads(self.accountant.to_json())
        return {"version": 1, "steps": self._steps, "accountant": recorded}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state, which replaces the record; the budget does not change.

        Steps after the state was saved are not part of it: compose them if they released anything.
        With ``run`` a ledger refuses to continue where there were such steps.

        Raises:
            TypeError, ValueError: If it is no state, or has another accountant or adjacency.
        """
        found = check_version(state)
        check_names("state", found, ("steps", "accountant"))
        accountant = type(self.accountant).from_json(json.dumps(found["accountant"]))
        if accountant.adjacency != self.accountant.adjacency:
            raise ValueError(
                f"state must be for the adjacency {self.accountant.adjacency!r}, got "
                f"{accountant.adjacency!r}"
            )
        self._steps = integer_of(found["steps"], "steps", 0)
        self.accountant, self._known = accountant, (None, 0)

    def report(self, **options: Any) -> Report:
        """Return a privacy statement of the record; the options are those of `privacy_report`.

        Raises:
            UnsupportedMechanismError, TypeError, ValueError: As `renyi.report.privacy_report`.
        """
        recorded = self.accountant.mechanisms
        mechanism, count = recorded[0] if len(recorded) == 1 else (Composed(*recorded), 1)
        options = {"delta": self.delta, "adjacency": self.accountant.adjacency} | options
        return privacy_report(mechanism, count, **options)

    def end(self) -> None:
        """Write the statement, if a file was given."""
        if self._statement is not None:
            made = self.report()
            text = made.to_html() if self._statement.suffix == ".html" else made.to_markdown()
            self._statement.write_text(text, encoding="utf-8")

    def _of(self, mechanism: Mechanism | None) -> Mechanism:
        step = self._mechanism if mechanism is None else mechanism
        if step is None:
            raise TypeError("mechanism must be what a step releases, got None")
        return step

    def _fits(self, step: Mechanism, number: int) -> int:
        """Return a number of steps that fit, at least ``number`` unless that does not fit.

        Steps like the last one probably continue: one query covers as many as there were.
        """
        known, fitting = self._known
        if known != self._asked(step):
            fitting = 0
        if fitting >= number or self.epsilon == math.inf:
            return max(fitting, number)
        ahead = [number]
        while step == self._mechanism and ahead[-1] < self._steps // 4:
            ahead.append(4 * ahead[-1])
        spent = self.accountant.get_epsilon_after(self.delta, step, ahead)
        within = [n for n, one in zip(ahead, spent, strict=True) if one <= self.epsilon]
        fitting = max(within, default=0)
        self._known = (self._asked(step), fitting)
        return fitting

    def _asked(self, step: Mechanism) -> tuple[Any, ...]:
        """Return the inputs that determine the number of steps that fit."""
        return step, self.accountant.mechanisms, self.epsilon, self.delta

    def _refusal(self, step: Mechanism, number: int) -> BudgetExceededError:
        fits = largest_count(lambda count: self._fits(step, count) >= count, 0, number)
        amounts = []
        for count in (0, number, fits):
            after = self.accountant.copy().compose(step, count)
            amounts.append(
                {"epsilon": after.get_epsilon(self.delta), "delta": after.get_delta(self.epsilon)}
            )
        limits = {"epsilon": self.epsilon, "delta": self.delta}
        message = refusal("the step", f"{step!r} used {number} times", limits, fits, *amounts)
        return BudgetExceededError(message, fits=fits)
