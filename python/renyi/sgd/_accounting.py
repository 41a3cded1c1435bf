"""The accounting of one run: recorded beforehand, within a budget, never taken back."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from renyi._rounding import refusal
from renyi._search import largest_count
from renyi._states import Run, entries_of, with_secrets
from renyi._validation import FINITE_POSITIVE, count_of, number_in, probability_of
from renyi.accountants import PLDAccountant, RDPAccountant
from renyi.filters import BudgetExceededError
from renyi.mechanisms import Mechanism
from renyi.noise.generator import SecureGenerator
from renyi.samplers.basic import BatchSampler
from renyi.sgd.plan import SAMPLERS, TrainingPlan, accountant_named

Ahead = Callable[[int], list[tuple[Mechanism, int]]]


class Budget:
    """An (epsilon, delta) that the releases of mechanisms fixed beforehand must not exceed.

    The time to stop follows from the mechanisms alone, not from the outputs, so accounting as for a
    run of fixed length is right. The accountant may hold other mechanisms, also later ones.
    """

    def __init__(self, budget: Any, accountant: PLDAccountant | RDPAccountant) -> None:
        if not isinstance(budget, tuple | list) or len(budget) != 2:
            raise TypeError(f"budget must be a pair (epsilon, delta), got {budget!r}")
        self.epsilon = number_in(budget[0], "budget epsilon", FINITE_POSITIVE)
        self.delta = probability_of(budget[1], "budget delta")
        self._accountant = accountant
        self._left = 0
        self._known: Any = None

    def spend(
        self,
        ahead: Ahead,
        count: int,
        planned: int,
        position: int,
        after: int,
        before: Callable[[], object],
    ) -> None:
        """Record releases, or raise `BudgetExceededError` if they do not fit.

        The accountant is locked from the check to the end.

        Args:
            ahead: Returns the next releases up to a number, as mechanisms with their counts.
            count: Number of releases to record.
            planned: Number of releases that are expected: one query covers all of them, if they
                fit.
            position, after: The step of the run before and after, as far as the next releases
                depend on it.
            before: Called between check and record; after an error in it nothing has changed.
        """
        with self._accountant.lock:
            known = (self._accountant.mechanisms, position)
            if self._left < count or self._known != known:
                self._known = None  # an interruption must not leave a number for another state
                self._left = self._affordable(ahead, max(planned, count))
                self._known = known
            if self._left < count:
                raise self._exceeded(ahead, count)
            before()
            self._known = None
            for mechanism, times in ahead(count):
                self._accountant.compose(mechanism, times)
            self._left -= count
            self._known = (self._accountant.mechanisms, after)

    def _exceeded(self, ahead: Ahead, count: int) -> BudgetExceededError:
        """Return an error that says what is left, what was asked for and what would fit."""
        composed = [self._composed(ahead(most)) for most in (0, count, self._left)]
        amounts = (
            {"epsilon": one.get_epsilon(self.delta), "delta": one.get_delta(self.epsilon)}
            for one in composed
        )
        limits = {"epsilon": self.epsilon, "delta": self.delta}
        message = refusal("the step", f"{count} releases", limits, self._left, *amounts)
        return BudgetExceededError(message, fits=self._left)

    def _affordable(self, ahead: Ahead, most: int) -> int:
        def fits(count: int) -> bool:
            return self._composed(ahead(count)).get_epsilon(self.delta) <= self.epsilon

        return most if fits(most) else largest_count(fits, 0, most)

    def _composed(self, releases: list[tuple[Mechanism, int]]) -> PLDAccountant | RDPAccountant:
        """Return an accountant of all that is recorded and of these releases."""
        accountant = self._accountant.copy()
        for mechanism, count in releases:
            accountant.compose(mechanism, count)
        return accountant


Charge = Callable[..., object]


class Charges:
    """Charges each release of a run elsewhere, in the name of the run and with a number.

    The number counts the earlier charges in this name; any other number is refused. If several runs
    continue one state, only the first can charge. Therefore each charges before its first step,
    with no uses if none are due.
    """

    def __init__(self, charge: Any) -> None:
        if charge is not None and not callable(charge):
            raise TypeError(f"charge must be called with a mechanism and a count, got {charge!r}")
        self._charge = charge
        # Several numbers after an interruption, when the last charge may or may not be recorded.
        self._numbers: tuple[int, ...] = (0,)
        self._shared = False  # whether others may have the state
        self._anew = False  # whether the release under way was charged to another branch

    def pay(self, mechanism: Mechanism, count: int, run: str) -> None:
        """Charge the uses that are due, or raise the error by which they are not recorded."""
        count = max(count, 1) if self._anew else count
        if self._charge is None or not (count or self._shared):
            return
        refused: ValueError | None = None
        for number in self._numbers:
            before, after = self._numbers, number + max(count, 1)
            self._numbers = (*before, after)
            try:
                self._charge(mechanism, count, run=run, step=number)
            except (BudgetExceededError, TypeError):
                self._numbers = before
                raise
            except ValueError as error:
                self._numbers, refused = before, refused or error
                count = max(count, 1)  # the interrupted charge may have been another's
            else:
                self._numbers = (after,)
                self._shared = self._anew = False
                return
        assert refused is not None
        raise refused

    def share(self) -> None:
        """Note that others may continue from the present state."""
        self._shared = True

    def state(self) -> dict[str, Any]:
        """Return the state, for `checked`."""
        return {"numbers": list(self._numbers), "anew": self._anew}

    def checked(self, state: Any, *, branch: bool) -> tuple[tuple[int, ...], bool]:
        """Return the contents of a state; a branch begins a run with its own name."""
        numbers, anew = entries_of(state, "numbers", "anew")
        if not isinstance(numbers, list | tuple) or not numbers or not isinstance(anew, bool):
            raise ValueError("state must hold numbers of charges and whether they begin anew")
        found = tuple(count_of(number, "numbers") for number in numbers)
        return ((0,), True) if branch else (found, anew)

    def restore(self, checked: tuple[tuple[int, ...], bool]) -> None:
        """Continue from a checked state."""
        self._shared = True
        self._numbers, self._anew = checked


class Ledger:
    """Records the releases of a plan; each stands for one or more steps.

    Attributes:
        accountant (PLDAccountant or RDPAccountant): The accountant that records the releases.
        interrupted (int): Steps that were recorded and not finished. Each may have released
            something and may have consumed a batch, so one more release is recorded for each.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        accountant: Any,
        budget: Any,
        sampler: Any,
        charge: Charge | None = None,
    ) -> None:
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
        self._charges = Charges(charge)
        self.interrupted = 0
        self._run = Run("DPSGD", "load a state with branch=True")
        self._sampler = _sampler_of(sampler, plan)
        if plan.strategy is not None and self._sampler is None:
            raise TypeError(
                "sampler must be given, plan.sampler(), where a plan has a strategy: the noise "
                "goes by the number of the batch"
            )
        self._plan = plan
        schedule = plan.noise_schedule
        self._mechanisms = [plan.release(step) for step in (schedule.starts if schedule else (1,))]
        self._recorded = [0] * len(self._mechanisms)
        for mechanism in self._mechanisms:
            accountant.compose(mechanism, 0)  # raises if it cannot be accounted for
        self._budget = None if budget is None else Budget(budget, accountant)
        if self._sampler is not None:
            self._sampler.bind()
        self._used = self._current = self._passed = self._drawn()[0]

    @property
    def releases(self) -> int:
        """The number of recorded releases."""
        return sum(self._recorded)

    def _piece(self, steps: int) -> int:
        """Return the index of the mechanism of the step after ``steps``."""
        schedule = self._plan.noise_schedule
        return 0 if schedule is None else schedule.piece(steps + 1)

    def _position(self, steps: int) -> int:
        return 0 if self._plan.noise_schedule is None else steps

    def _drawn(self) -> tuple[int, int | None]:
        """Return the number of the last batch drawn and its rows."""
        return (0, None) if self._sampler is None else self._sampler.last_batch

    def rows(self, *, begun: bool) -> int | None:
        """Return the rows of the batch drawn last, a private number; None without a sampler.

        With ``begun`` the batch must be that of the earlier parts.
        """
        self._run.check()
        number, rows = self._drawn()
        if self._sampler is None:
            return None
        if number <= self._used:
            raise RuntimeError(
                "a batch must be drawn from the sampler for each step, after the last step and "
                f"not ahead, got {number} drawn and {self._used} used"
            )
        if begun and number != self._current:
            raise RuntimeError(
                f"discard must be called first: parts are of batch {self._current}, and the "
                f"sampler has drawn batch {number}"
            )
        if number > max(self._used, self._passed) + 1:
            raise RuntimeError(
                "discard must be called first: batches drawn after the last step were not used, "
                "and choosing among draws by what is in them undoes the sampling"
            )
        if self._plan.strategy is not None and number > self._plan.steps:
            raise RuntimeError(
                f"the run must end after the {self._plan.steps} steps of its strategy: more are "
                "not covered by its guarantee"
            )
        self._current = number
        return rows

    def noise_step(self, step: int) -> int:
        """Return the step whose noise is due: with a strategy the number of the batch."""
        return step if self._plan.strategy is None else self._current

    def pass_over(self) -> None:
        """Permit that batches drawn so far are left unused."""
        self._passed = 0 if self._sampler is None else self._sampler.drawn

    def record(self, steps: int) -> None:
        """Record the releases of the step after ``steps`` that are not recorded yet.

        Raises:
            BudgetExceededError: If the releases do not fit. Nothing is recorded then, nor if the
                charge is refused.
        """
        count, piece = self._due(steps), self._piece(steps)
        mechanism = self._mechanisms[piece]
        charge = partial(self._charges.pay, mechanism, count, self._run.name)
        if self._budget is None or not count:
            charge()
            if count:
                self.accountant.compose(mechanism, count)
        else:

            def ahead(most: int) -> list[tuple[Mechanism, int]]:
                later = self._plan.releases_after(steps + 1, max(most - count, 0))
                return [(mechanism, min(most, count)), *later]

            planned = self._plan.releases - self.releases
            positions = self._position(steps), self._position(steps + 1)
            self._budget.spend(ahead, count, planned, *positions, charge)
        self._recorded[piece] += count

    def begin(self, steps: int) -> None:
        """Count a recorded step as interrupted until `finish`, and its batch as used."""
        self.interrupted += 1
        self._used = self._current
        self._run.begin(steps + self.interrupted)

    def finish(self) -> None:
        """Count the step as finished."""
        self.interrupted -= 1

    def secrets(self, steps: int) -> dict[str, Any]:
        """Return the secrets, with the run and the step of the state that they belong to."""
        sampler = self._sampler
        return {
            "run": self._run.name,
            "begun": steps + self.interrupted,
            "sampler": None if sampler is None else sampler.state_dict(secrets=True)["secrets"],
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the counts, the name of the run, and the state of the sampler."""
        self._charges.share()
        return {
            "run": self._run.name,
            "charged": self._charges.state(),
            "releases": self.releases,
            "recorded": list(self._recorded),
            "interrupted": self.interrupted,
            "sampler": None if self._sampler is None else self._sampler.state_dict(),
        }

    def load_state_dict(
        self,
        state: Mapping[str, Any],
        generator: SecureGenerator,
        restore: Callable[[], None],
        *,
        branch: bool,
    ) -> None:
        """Record the releases of a state that are not recorded here; restore sampler and generator.

        ``restore`` restores the rest. After an error nothing has changed. After an interruption the
        state may be loaded again, and releases may then be recorded twice: the count of recorded
        releases changes last, so that no step is left unrecorded.
        """
        run, recorded, interrupted = self._checked(state)
        charged = self._charges.checked(state["charged"], branch=branch)
        more = [now - before for now, before in zip(recorded, self._recorded, strict=True)]
        number = state["steps"] + interrupted
        with self._run.lock_of(run), self.accountant.lock:
            if not branch:
                self._run.check_load(run, number)
            elif self.releases:
                raise ValueError(
                    "branch must be False where DPSGD has released something, got True"
                )
            together = self.accountant.copy()
            for mechanism, count in zip(self._mechanisms, more, strict=True):
                together.compose(mechanism, count)  # raises before anything has changed
            secrets = state.get("secrets")
            last = generator.state_dict(secrets=True)
            generator.load_state_dict(with_secrets(state["generator"], secrets, "generator"))
            if self._sampler is not None:
                try:
                    self._sampler.load_in_owner(with_secrets(state["sampler"], secrets, "sampler"))
                except BaseException:
                    generator.load_state_dict(last)
                    raise
            for mechanism, count in zip(self._mechanisms, more, strict=True):
                self.accountant.compose(mechanism, count)
            self._run.take_over(run, number, branch=branch)
            self._charges.restore(charged)
            restore()
            self._used = self._current = self._passed = self._drawn()[0]
            self.interrupted = interrupted
            self._recorded = recorded

    def _checked(self, state: Mapping[str, Any]) -> tuple[str, list[int], int]:
        wanted = ("run", "charged", "releases", "interrupted", "steps", "sampler", "generator")
        if missing := [name for name in wanted if name not in state]:
            raise ValueError(f"state must hold {', '.join(wanted)}, got none of {missing}")
        releases, interrupted, steps = (
            count_of(state[k], k) for k in ("releases", "interrupted", "steps")
        )
        if self.releases and str(state["run"]) != self._run.name:
            raise ValueError(
                "state must be of this run, for it has released something, or the optimiser be new"
            )
        least = max(self.releases, -(-(steps + interrupted) // self._plan.steps_per_release))
        if releases < least:
            raise ValueError(f"state must hold at least {least} releases, got {releases}")
        recorded = self._checked_pieces(state, releases, steps)
        secrets = state.get("secrets")
        of_this = [str(state["run"]), steps + interrupted]
        if secrets is not None and entries_of(secrets, "run", "begun") != of_this:
            raise ValueError("state must hold its own secrets, got those of another state")
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
        return str(state["run"]), recorded, interrupted

    def _checked_pieces(self, state: Mapping[str, Any], releases: int, steps: int) -> list[int]:
        """Return the number of releases with the noise of each piece of the schedule."""
        if self._plan.noise_schedule is None:
            return [releases]
        recorded = [count_of(n, "recorded") for n in entries_of(state, "recorded")[0]]
        least = list(self._recorded)
        for piece, count in self._plan.noise_schedule.counts(0, steps):
            least[piece] = max(least[piece], count)
        enough = len(recorded) == len(least) and all(map(int.__ge__, recorded, least))
        if not enough or sum(recorded) != releases:
            raise ValueError(
                f"state must hold recorded releases of at least {least}, {releases} in all, got "
                f"{recorded}"
            )
        return recorded

    def _due(self, steps: int) -> int:
        """Return the number of releases to record before the step after ``steps``."""
        each = self._plan.steps_per_release
        begun = steps // each + 1
        if self._sampler is not None and each > 1:
            begun = max(begun, -(-self._sampler.drawn // each))
        # The release of a strategy covers an interrupted step.
        again = 0 if self._plan.strategy is not None else self.interrupted
        return max(begun + again - self.releases, 0)


def _sampler_of(value: Any, plan: TrainingPlan) -> BatchSampler | None:
    if value is None:
        return None
    if not isinstance(value, BatchSampler):
        raise TypeError(f"sampler must be one like that of the plan, got {value!r}")
    if type(value) not in SAMPLERS:  # a subclass may draw in another way
        raise TypeError(
            f"sampler must be one of plan.sampler(), of no class of its own, got {value!r}"
        )
    planned = plan.sampler()
    if value._settings() != planned._settings():
        raise ValueError(f"sampler must be one like that of the plan, {planned!r}, got {value!r}")
    return value
