"""DP-SGD on NumPy arrays: clip, sum, record, noise, update."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from renyi._arrays import Arrays, without_padding
from renyi._states import check_same
from renyi.accountants import PLDAccountant, RDPAccountant
from renyi.samplers.basic import BatchSampler
from renyi.sgd._accounting import Charge, Ledger
from renyi.sgd.adaptive import QuantileClipNorm
from renyi.sgd.noisy_sums import NoisySum
from renyi.sgd.plan import TrainingPlan
from renyi.sgd.projected import Domain
from renyi.sgd.rules import ClipGroups, Clipping, Nonfinite, OneAtATime
from renyi.sgd.sums import PrivateDiagnostics
from renyi.sgd.updates import Parameters, UpdateRule


class DPSGD:
    """Trains arrays in place by noisy sums of clipped per-sample gradients.

    The guarantee is that of the plan, if batches are drawn as the plan says, by `plan.sampler`, and
    every per-sample gradient depends on one record only. It covers the parameters after every step
    and the result of `step`, to the last bit: sums are exact, and each entry becomes sum plus ideal
    noise, rounded to a lattice (`add_gaussian_noise`). It does not cover the running time.

    Errors leave everything as it was, except that an interrupted step stays recorded, and its
    clipped rows are discarded. Calls from several threads at once are refused.

    Args:
        parameters: float32 or float64, updated in place. The joint norm of all gradients is
            clipped. Sums and noise are in double precision, or on the grid of the plan: a
            `ClippedSum` in single precision is refused.
        plan: Sampling, clipping norm, noise and divisor. Steps beyond the plan are allowed, and
            recorded. On a grid the plan has the dimension of the parameters.
        rule: `SGD` or `Adam`, whose learning rate may be a `Schedule`; for a
            list of arrays also one rule for each, within one guarantee. With
            ``clipping="per_layer"`` each array has its share of the norm, with `ClipGroups` each
            group, and then of the noise too.
        clipping, stability, nonfinite, threads: As for `clip_and_sum`.
        clip_norm: A clipping norm that follows the gradients and starts at the ``max_grad_norm`` of
            the plan. The noise multiplier of the plan is then that of the sum and its noised count
            together, see `QuantileClipNorm`: the guarantee is the same, and the sum gets more
            noise. Not on a grid.
        domain: A convex set: after every update all parameters, one array after the other as one
            vector, are moved to its nearest point (projected noisy SGD). Steps are accounted as
            without a domain; if only the last iterate of one pass is released, `PNSGD` proves a
            smaller epsilon.
        accountant: The accountant that records the steps, possibly among other mechanisms; by
            default a new PLDAccountant, on a grid an RDPAccountant.
        budget: (epsilon, delta) of the accountant that no step may exceed. The check asks the
            accountant about all planned steps at once, and only if they do not fit about fewer.
            Optimisers in several threads may share an accountant: check and record are one.
        sampler: The sampler of the plan, which draws the batches for this optimiser alone. Each
            step is on the batch drawn last, with a row for each of its records. No batch is used
            twice, and only `discard` leaves one out: draw the next batch after the step. The state
            of the sampler is saved with the rest, and its draws count the epochs of shuffled
            batches. Without a sampler steps count them: then no batch may be left out, and a
            resumed run has to restore the sampler too.
        charge: Called as ``charge(mechanism, count, run=name, step=number)`` before each release;
            an error stops the step. For a `renyi.Ledger`: ``functools.partial(ledger.charge, "the
            data set")``. The name is that of the run, the number counts the earlier charges in its
            name. If several processes continue one state, the ledger refuses all but the first.
            Within an epoch, where nothing is due, the first step after a state was saved or loaded
            is charged with no uses. Releases before a loaded state were charged when they happened,
            and are not charged again.
        generator (SecureGenerator or numpy.random.Generator): The source of the noise; by default
            the process's own `SecureGenerator`.

    Raises:
        UnsupportedMechanismError: If the accountant cannot account for the plan.

    >>> import numpy as np
    >>> from renyi.sgd import SGD, TrainingPlan
    >>> data = np.random.default_rng(1).normal([2.0, -1.0], 0.1, (10_000, 2))
    >>> plan = TrainingPlan(len(data), 500, noise_multiplier=2.0, epochs=2, max_grad_norm=3.0)
    >>> w = np.zeros(2)
    >>> sampler = plan.sampler()
    >>> optimizer = DPSGD(w, plan, SGD(0.2), sampler=sampler)
    >>> for batch in sampler:
    ...     _ = optimizer.step(w - data[batch])
    >>> bool(abs(w - [2.0, -1.0]).max() < 0.1)
    True
    >>> optimizer.get_epsilon(1e-5) == plan.get_epsilon(1e-5)
    True
    """

    def __init__(
        self,
        parameters: Arrays,
        plan: TrainingPlan,
        rule: UpdateRule | Sequence[UpdateRule],
        *,
        clipping: Clipping = "flat",
        stability: float = 0.01,
        nonfinite: Nonfinite = "zero",
        clip_norm: QuantileClipNorm | None = None,
        domain: Domain | None = None,
        accountant: PLDAccountant | RDPAccountant | None = None,
        budget: tuple[float, float] | None = None,
        sampler: BatchSampler | None = None,
        charge: Charge | None = None,
        generator: Any = None,
        threads: int | None = None,
    ) -> None:
        if type(plan) is not TrainingPlan:  # a subclass may give less noise than it is charged for
            raise TypeError(f"plan must be a TrainingPlan, of no class of its own, got {plan!r}")
        self._plan = plan
        self._trained = Parameters(parameters, rule, domain)
        self._sum = NoisySum(
            plan,
            self._trained.shapes,
            clip_norm=clip_norm,
            generator=generator,
            threads=threads,
            clipping=clipping,
            stability=stability,
            nonfinite=nonfinite,
        )
        described = asdict(clipping) if isinstance(clipping, ClipGroups) else clipping
        self._clipping = {"clipping": described, "stability": float(stability)}
        self._ledger = Ledger(plan, accountant, budget, sampler, charge)
        self._private: PrivateDiagnostics | None = None
        self._alone = OneAtATime("a DPSGD")
        self._undo: Callable[[], None] | None = None

    @property
    def plan(self) -> TrainingPlan:
        """The plan."""
        return self._plan

    @property
    def rule(self) -> UpdateRule | Sequence[UpdateRule]:
        """The update rule; another one of the same kind may be set."""
        return self._trained.rule

    @rule.setter
    def rule(self, rule: UpdateRule | Sequence[UpdateRule]) -> None:
        self._trained.rule = self._trained.rule_like(rule)

    @property
    def accountant(self) -> PLDAccountant | RDPAccountant:
        """The accountant that records the steps."""
        return self._ledger.accountant

    @property
    def steps(self) -> int:
        """Logical batches so far."""
        return self._trained.steps

    @property
    def max_grad_norm(self) -> float | tuple[float, ...]:
        """The bound for the present batch, or with "per_layer" the bounds of the arrays."""
        bounds = self._sum.bounds(self.steps + 1)
        return bounds[0] if len(bounds) == 1 else bounds

    @property
    def private(self) -> PrivateDiagnostics | None:
        """Norms and counts of the last batch: not for publication."""
        return self._private

    def get_epsilon(self, delta: float) -> float:
        """Return the epsilon at ``delta`` of all that the accountant holds, rounded up."""
        return self._ledger.accountant.get_epsilon(delta)

    def accumulate(self, per_sample_grads: Any, *, mask: Any = None) -> DPSGD:
        """Clip a part of a logical batch and add it to the sum; nothing is released.

        Args:
            per_sample_grads (array, list of arrays or ClippedSum): Arrays like the parameters with
                one more axis in front, for the samples; or the sum of rows clipped in the same way
                elsewhere: by `ghost_clip_and_sum`, or on other machines; on a grid by a
                `ClipAccumulator` there; not in single precision. A record must be in one part only.
            mask (array of bool): True for each row of a record; the others are padding, as from
                `pad_batch`, and not read.

        Raises:
            TypeError, ValueError: If shapes or dtypes are not as above, or the batch has more rows
                than it can have records: more than the population or, with a ``sampler``, than its
                largest batch.

        >>> import numpy as np
        >>> from renyi.sgd import SGD, TrainingPlan
        >>> plan = TrainingPlan(100, 4, noise_multiplier=1.0, steps=9)
        >>> optimizer = DPSGD(np.zeros(3), plan, SGD(0.1))
        >>> noisy_mean = optimizer.accumulate(np.ones((2, 3))).step(np.ones((1, 3)))
        >>> optimizer.private.batch_size, optimizer.steps
        (3, 1)
        """
        # After an interruption neither the next batch nor the same part again may be added to the
        # sum, which may hold some or all of the part.
        begun: list[bool] = []
        try:
            self._attempt(partial(self._add, per_sample_grads, mask, begun), self._sum.parts.spoil)
            return self
        except BaseException:
            if begun:
                self._sum.parts.spoil()
            raise

    def _add(self, grads: Any, mask: Any, begun: list[bool]) -> None:
        part = self._checked(grads, mask, last=False)
        if part is not None:
            begun.append(True)
            self._sum.parts.add_checked(part)

    def _attempt(self, work: Callable[[], Any], undo: Callable[[], None]) -> Any:
        """Do the work; after an interruption ``undo`` it, at once or before the next use."""
        with self._alone:
            self._recover()
            begun, self._undo = self._ledger.interrupted, undo
            try:
                done = work()
            except BaseException as error:
                if isinstance(error, Exception) and self._ledger.interrupted == begun:
                    self._undo = None  # the work was refused and has changed nothing
                self._recover()
                raise
            self._undo = None
            return done

    def _recover(self) -> None:
        if self._undo is not None:
            self._undo()
            self._undo = None

    def _checked(self, grads: Any, mask: Any, *, last: bool) -> Any:
        if mask is not None:
            grads = without_padding(grads, mask, "per_sample_grads")
        rows = self._ledger.rows(begun=self._sum.parts.parts > 0)
        return self._sum.checked(grads, rows, self.steps + 1, last=last)

    def discard(self) -> None:
        """Forget the parts of a batch that was not finished, and let draws go unused.

        The next step is then on the batch drawn last, or on a later one. The reason for leaving
        batches out, such as an interruption, must not depend on their records: the guarantee is
        that of steps on batches in the order of the draws.
        """
        with self._alone:
            self._discard()
            self._undo = None

    def _discard(self) -> None:
        self._sum.parts.discard()
        self._ledger.pass_over()

    def step(self, per_sample_grads: Any = None, *, mask: Any = None) -> Arrays:
        """Finish a logical batch: record, add noise, divide by a public number, update.

        Args:
            per_sample_grads (array, list of arrays or ClippedSum): The last part of the batch, or
                all of it, as for `accumulate`. It may have no rows; an empty batch has noise like
                any other.
            mask (array of bool): As for `accumulate`.

        Returns:
            The noisy mean gradient of the update: it is differentially private and may be
            published.

        Raises:
            BudgetExceededError: If the step would exceed the budget; the message states the cost
                with and without the step. Nothing is done then, nor after the errors below.
            TypeError, ValueError: If shapes or dtypes are not as above, or a batch is not of its
                public size; or if a ledger refuses the ``charge``, as another run has continued the
                same state.
            RuntimeError: If the sampler has drawn no batch for this step, or several, or another
                one since the first part of the step; if a part was interrupted and not discarded;
                if the process was forked, or the run continued elsewhere; or if another thread uses
                the optimiser.
        """
        released: Arrays = self._attempt(partial(self._step, per_sample_grads, mask), self._discard)
        return released

    def _step(self, grads: Any, mask: Any) -> Arrays:
        part = self._checked(grads, mask, last=True)
        self._ledger.record(self.steps)
        self._ledger.begin(self.steps)
        if part is not None:
            self._sum.parts.add_checked(part)
        clipped = self._sum.parts.take()
        self._private = clipped.private
        released = self._sum.release(clipped, self._ledger.noise_step(self.steps + 1))
        self._trained.update(released)
        self._ledger.finish()
        return released if isinstance(clipped.sum, list) else released[0]

    def state_dict(self, *, secrets: bool = False) -> dict[str, Any]:
        """Return the state after the last step, for `load_state_dict`.

        It holds no gradients. Everything that must not be published with a checkpoint is in one
        entry.

        Args:
            secrets: Whether the state has an entry "secrets". The entry holds the earlier noise of
                a strategy, which together with the releases reveals the sums; in the middle of an
                epoch of balls in bins the bin of every record; and the next draws of reproducible
                generators. Without the entry the state may be published, but cannot be loaded if
                there are secrets. The entry may be stored separately and put back before the state
                is loaded.

        Raises:
            RuntimeError: In the middle of a batch, whose sum has no noise yet.
        """
        with self._alone:
            self._refuse_parts("state_dict")
            state = {
                "plan": asdict(self._plan),
                "clipping": dict(self._clipping),
                **self._ledger.state_dict(),
                **self._trained.state_dict(),
                **self._sum.state_dict(),
            }
            if secrets:
                state["secrets"] = {**self._ledger.secrets(self.steps), **self._sum.secrets()}
            return state

    def load_state_dict(self, state: Mapping[str, Any], *, branch: bool = False) -> None:
        """Continue from `state_dict`, and record the releases up to there with the accountant.

        A reproducible generator continues its noise; a secure one takes a new key. Only releases
        that this optimiser has not recorded yet are recorded: its accountant should hold nothing
        else of the run. Steps after the state was saved are not part of it: compose their releases
        by hand. The ``domain`` is that of this optimiser.

        Args:
            state (mapping): The state of an optimiser with the same plan, clipping, kind of rule
                and shapes. If this optimiser has released something, the state must be of its own
                run, with at least as many releases. Within a process a state is loaded once, and
                only if its run has not continued since; the optimiser that saved it cannot continue
                then. After an interruption a state may be loaded again. Only the ledger of a
                ``charge`` knows of other processes: it refuses the first step from a state that
                another process has continued, with a ValueError.
            branch: Whether to load the state as a run of its own, into a new optimiser. Each branch
                reports its own steps and those before the state; together they spend the steps of
                both. A ``charge`` is called again for a release under way, such as an epoch or a
                whole run.

        Raises:
            RuntimeError: In the middle of a batch.
            TypeError, ValueError: If the state or ``branch`` is not as above, or the state lacks
                the secrets it takes. Nothing is changed then.
        """
        with self._alone:
            self._refuse_parts("load_state_dict")
            check_same(state, "plan", asdict(self._plan))
            check_same(state, "clipping", self._clipping)
            trained = self._trained.checked(state)
            self._sum.check(state)

            def restore() -> None:
                self._sum.restore(state)
                self._trained.restore(trained)

            self._ledger.load_state_dict(state, self._sum.generator, restore, branch=branch)

    def _refuse_parts(self, what: str) -> None:
        self._recover()
        if self._sum.parts.parts:
            raise RuntimeError(
                f"{what} must be called between batches, got one that has begun and has no noise: "
                "step or discard first"
            )

    def __repr__(self) -> str:
        return f"<DPSGD: {self.steps} of {self._plan.steps} steps, {self.rule!r}>"
