"""Other accounting libraries, called as their users call them. For timing only, all optional."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple


class Training(NamedTuple):
    """A training run: Poisson sampling, Gaussian noise."""

    sample_rate: float
    noise_multiplier: float
    steps: int

    def nudged(self, k: int) -> Training:
        """Change the noise by k parts in 1e10, so that no cache can answer."""
        return self._replace(noise_multiplier=self.noise_multiplier * (1 + 1e-10 * k))


@dataclass(frozen=True)
class Peer:
    """A library: epsilon of a run at delta (fresh accountant, default orders), and its log A."""

    name: str
    version: str
    orders: tuple[float, ...]
    epsilon: Callable[[Training, float], float]
    log_a: Callable[[float, float, float], float]
    modules: tuple[Any, ...]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Neither log lines nor warnings, which would also cost their authors time."""
    threshold = logging.root.manager.disable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(threshold)


def installed() -> tuple[list[Peer], list[str]]:
    """List the libraries that can be imported, and the names of those that cannot."""
    with quiet():
        found = {"dp_accounting": dp_accounting(), "opacus": opacus()}
    return [p for p in found.values() if p], [name for name, p in found.items() if p is None]


def load(distribution: str, *modules: str) -> tuple[str, tuple[Any, ...]] | None:
    """Import modules; None if the library is absent or broken, which must not stop a timing."""
    try:
        loaded = tuple(importlib.import_module(module) for module in modules)
        return importlib.metadata.version(distribution), loaded
    except Exception:
        return None


def dp_accounting() -> Peer | None:
    """Google's dp_accounting."""
    core = "dp_accounting.rdp.rdp_privacy_accountant"
    if (loaded := load("dp-accounting", "dp_accounting", core)) is None:
        return None
    version, (events, rdp) = loaded

    def epsilon(run: Training, delta: float) -> float:
        gaussian = events.GaussianDpEvent(run.noise_multiplier)
        event = events.PoissonSampledDpEvent(run.sample_rate, gaussian)
        return float(rdp.RdpAccountant().compose(event, run.steps).get_epsilon(delta))

    orders = tuple(map(float, rdp.DEFAULT_RDP_ORDERS))
    return Peer("dp_accounting", version, orders, epsilon, rdp._compute_log_a, (events, rdp))


def opacus() -> Peer | None:
    """Opacus, whose accountant is told a finished run through its history."""
    core = "opacus.accountants"
    loaded = load("opacus", core, f"{core}.analysis.rdp", f"{core}.utils")
    if loaded is None:
        return None
    version, modules = loaded

    def epsilon(run: Training, delta: float) -> float:
        accountant = modules[0].RDPAccountant()
        accountant.history = [(run.noise_multiplier, run.sample_rate, run.steps)]
        return float(accountant.get_epsilon(delta))

    orders = tuple(map(float, modules[0].RDPAccountant.DEFAULT_ALPHAS))
    return Peer("opacus", version, orders, epsilon, modules[1]._compute_log_a, modules)
