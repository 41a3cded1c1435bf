"""Other accounting libraries, called as their users call them. For timing only, all optional."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
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
    return found_of(dp_accounting, opacus)


def found_of(*makers: Callable[[], Any]) -> tuple[list[Any], list[str]]:
    """List what makers find, and the names of those that find nothing."""
    with quiet():
        found = {maker.__name__: maker() for maker in makers}
    return [p for p in found.values() if p], [name for name, p in found.items() if p is None]


def named(peers: Sequence[Any], missing: Sequence[str]) -> dict[str, str]:
    """Say which libraries took part."""
    return {
        "Peers": ", ".join(f"{peer.name} {peer.version}" for peer in peers) or "none",
        "Not installed, skipped": ", ".join(missing) or "none",
    }


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


Composition = Sequence[Training]


@dataclass(frozen=True)
class CurvePeer:
    """A library that composes privacy-loss distributions: epsilon at delta and delta at epsilon.

    ``delta`` is told about how small the answer will be, since two of the libraries want to know
    beforehand. All are given add-or-remove-one neighbours and an error of about 0.01 in epsilon
    (a grid of 1e-4 for dp_accounting).
    """

    name: str
    version: str
    epsilon: Callable[[Composition, float], float]
    delta: Callable[[Composition, float, float], float]
    noise_multiplier: Callable[[float, float, float, int], float] | None = None


def installed_curves() -> tuple[list[CurvePeer], list[str]]:
    """List the libraries that can be imported, and the names of those that cannot."""
    return found_of(dp_accounting_pld, prv_accountant, opacus_prv)


def dp_accounting_pld() -> CurvePeer | None:
    """Google's dp_accounting: connect-the-dots on a grid of 1e-4."""
    if (loaded := load("dp-accounting", "dp_accounting", "dp_accounting.pld")) is None:
        return None
    version, (events, pld) = loaded

    def accountant(steps: Composition) -> Any:
        ledger = pld.PLDAccountant(value_discretization_interval=1e-4)
        for q, sigma, count in steps:
            gaussian = events.GaussianDpEvent(sigma)
            ledger.compose(gaussian if q == 1 else events.PoissonSampledDpEvent(q, gaussian), count)
        return ledger

    def noise(target: float, delta: float, q: float, count: int) -> float:
        def event(sigma: float) -> Any:
            step = events.PoissonSampledDpEvent(q, events.GaussianDpEvent(sigma))
            return events.SelfComposedDpEvent(step, count)

        return float(events.calibrate_dp_mechanism(pld.PLDAccountant, event, target, delta))

    return CurvePeer(
        "dp_accounting PLD",
        version,
        lambda steps, delta: float(accountant(steps).get_epsilon(delta)),
        lambda steps, epsilon, _: float(accountant(steps).get_delta(epsilon)),
        noise,
    )


def prv_accountant() -> CurvePeer | None:
    """Package prv_accountant (Gopi, Lee, Wutschitz 2021), one direction: the worse one."""
    if (loaded := load("prv_accountant", "prv_accountant")) is None:
        return None
    version, (prv,) = loaded

    def accountant(steps: Composition, delta: float) -> tuple[Any, list[int]]:
        prvs = [
            prv.GaussianMechanism(sigma)
            if q == 1
            else prv.PoissonSubsampledGaussianMechanism(
                sampling_probability=q, noise_multiplier=sigma
            )
            for q, sigma, _ in steps
        ]
        counts = [count for _, _, count in steps]
        ledger = prv.PRVAccountant(
            prvs=prvs, eps_error=0.01, delta_error=delta / 1000, max_self_compositions=counts
        )
        return ledger, counts

    def epsilon(steps: Composition, delta: float) -> float:
        ledger, counts = accountant(steps, delta)
        return float(ledger.compute_epsilon(delta, counts)[2])

    def delta(steps: Composition, epsilon: float, size: float) -> float:
        ledger, counts = accountant(steps, size)
        return float(ledger.compute_delta(epsilon, counts)[1])

    return CurvePeer("prv_accountant", version, epsilon, delta)


def opacus_prv() -> CurvePeer | None:
    """Opacus, its default accountant, told a finished run through its history."""
    if (loaded := load("opacus", "opacus.accountants", "opacus.accountants.utils")) is None:
        return None
    version, (accountants, utils) = loaded

    def accountant(steps: Composition) -> Any:
        ledger = accountants.PRVAccountant()
        ledger.history = [(sigma, q, count) for q, sigma, count in steps]
        return ledger

    def delta(steps: Composition, epsilon: float, size: float) -> float:
        composed = accountant(steps)._get_dprv(eps_error=0.01, delta_error=size / 1000)
        return float(composed.compute_delta_estimate(epsilon))

    def noise(target: float, delta: float, q: float, count: int) -> float:
        return float(
            utils.get_noise_multiplier(
                target_epsilon=target, target_delta=delta, sample_rate=q, steps=count,
                accountant="prv",
            )
        )  # fmt: skip

    return CurvePeer(
        "opacus PRV",
        version,
        lambda steps, delta: float(accountant(steps).get_epsilon(delta)),
        delta,
        noise,
    )


def truthful(noise: float) -> float:
    """Probability of the true answer of randomized response whose largest loss is 1 / noise."""
    return 1 / (1 + math.exp(-1 / noise))


def autodp_rdp() -> tuple[str, Any, dict[str, Callable[[float, float], float]]] | None:
    """Version of autodp, its module of accountants, and divergences of a noise and an order."""
    if (loaded := load("autodp", "autodp.rdp_acct", "autodp.rdp_bank")) is None:
        return None
    version, (accounting, bank) = loaded
    divergences = {
        "Gaussian": lambda noise, order: float(bank.RDP_gaussian({"sigma": noise}, order)),
        "Laplace": lambda noise, order: float(bank.RDP_laplace({"b": noise}, order)),
        "randomized response": lambda noise, order: float(
            bank.RDP_randresponse({"p": truthful(noise)}, order)
        ),
        "pure DP": lambda noise, order: float(bank.RDP_pureDP({"eps": 1 / noise}, order)),
    }
    return version, accounting, divergences
