"""Runs: who goes on with one and how far it is, so that no two branches pass for one."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field

__all__ = ["Run"]


@dataclass
class _Known:
    """What this process knows of a run; states are numbered by the steps that were begun."""

    holder: object
    begun: int
    loaded: int = -1
    process: int = field(default_factory=os.getpid)


_RUNS: dict[str, _Known] = {}


class Run:
    """The place of one optimiser in a run: only who made it, or loaded its last state, goes on."""

    def __init__(self) -> None:
        self._own = object()
        self._start(secrets.token_hex(16), 0)

    def _start(self, name: str, begun: int, loaded: int = -1) -> None:
        _RUNS[name] = _Known(self._own, begun, loaded)
        self.name = name

    def check(self) -> None:
        """Raise `RuntimeError` if somebody else goes on with the run."""
        known = _RUNS[self.name]
        if known.process != os.getpid():
            raise RuntimeError(
                "DPSGD must be used in the process that made it, got a fork of it, of which "
                "neither would know what the other spends: load a state with branch=True"
            )
        if known.holder is not self._own:
            raise RuntimeError(
                "DPSGD must go on where its state was loaded last, got one whose run another has "
                "taken over: load a state with branch=True"
            )

    def begin(self, number: int) -> None:
        """Note that so many steps have been begun."""
        known = _RUNS[self.name]
        known.begun = max(known.begun, number)

    def check_load(self, name: str, number: int) -> None:
        """Raise `ValueError` if going on from a state would be a branch of a run.

        Who has loaded it and released nothing since may do so again, after an interruption say.
        """
        known = _RUNS.get(name)
        if known is None:
            return
        again = number <= known.loaded and known.holder is not self._own
        if known.process != os.getpid() or number < known.begun or again:
            raise ValueError(
                f"state must be loaded once and be the last of its run, got number {number} after "
                f"{known.begun} were begun and {max(known.loaded, 0)} loaded: two branches spend "
                "more together than either reports, branch=True makes one all the same"
            )

    def take_over(self, name: str, number: int, *, branch: bool) -> None:
        """Go on from a state that was checked; a branch is a run of its own."""
        if branch:
            self._start(secrets.token_hex(16), number)
        else:
            self._start(name, number, number)
