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


Noise = Callable[[float, float, Training], float]  # the least for epsilon, delta and a run


@dataclass(frozen=True)
class Peer:
    """A library: epsilon of a run at delta (fresh accountant, default orders), and its log A.

    ``live`` asks for epsilon after each of some steps; ``noises`` are calibrations by name.
    """

    name: str
    version: str
    orders: tuple[float, ...]
    epsilon: Callable[[Training, float], float]
    log_a: Callable[[float, float, float], float]
    live: Callable[[Sequence[Training], float], float]
    noises: dict[str, Noise]


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


def dp_step(events: Any, run: Training) -> Any:
    gaussian = events.GaussianDpEvent(run.noise_multiplier)
    full = run.sample_rate == 1
    return gaussian if full else events.PoissonSampledDpEvent(run.sample_rate, gaussian)


def dp_noise(events: Any, accountant: Any) -> Noise:
    def noise(target: float, delta: float, run: Training) -> float:
        def event(sigma: float) -> Any:
            step = dp_step(events, run._replace(noise_multiplier=sigma))
            return events.SelfComposedDpEvent(step, run.steps)

        return float(events.calibrate_dp_mechanism(accountant, event, target, delta))

    return noise


def opacus_noise(utils: Any, accountant: str, tolerance: float) -> Noise:
    def noise(target: float, delta: float, run: Training) -> float:
        goal = {"target_epsilon": target, "target_delta": delta, "epsilon_tolerance": tolerance}
        steps = {"sample_rate": run.sample_rate, "steps": run.steps}
        return float(utils.get_noise_multiplier(**goal, **steps, accountant=accountant))

    return noise


def dp_accounting() -> Peer | None:
    """Google's dp_accounting."""
    core = "dp_accounting.rdp.rdp_privacy_accountant"
    if (loaded := load("dp-accounting", "dp_accounting", core)) is None:
        return None
    version, (events, rdp) = loaded

    def epsilon(run: Training, delta: float) -> float:
        accountant = rdp.RdpAccountant().compose(dp_step(events, run), run.steps)
        return float(accountant.get_epsilon(delta))

    def live(steps: Sequence[Training], delta: float) -> float:
        accountant, value = rdp.RdpAccountant(), 0.0
        for run in steps:
            value = accountant.compose(dp_step(events, run)).get_epsilon(delta)
        return float(value)

    orders = tuple(map(float, rdp.DEFAULT_RDP_ORDERS))
    noises = {"": dp_noise(events, rdp.RdpAccountant)}
    return Peer("dp_accounting", version, orders, epsilon, rdp._compute_log_a, live, noises)


def opacus() -> Peer | None:
    """Opacus, whose accountant is told a finished run through its history."""
    core = "opacus.accountants"
    loaded = load("opacus", core, f"{core}.analysis.rdp", f"{core}.utils")
    if loaded is None:
        return None
    version, (accountants, analysis, utils) = loaded

    def epsilon(run: Training, delta: float) -> float:
        accountant = accountants.RDPAccountant()
        accountant.history = [(run.noise_multiplier, run.sample_rate, run.steps)]
        return float(accountant.get_epsilon(delta))

    def live(steps: Sequence[Training], delta: float) -> float:
        accountant, value = accountants.RDPAccountant(), 0.0
        for q, sigma, _ in steps:
            accountant.step(noise_multiplier=sigma, sample_rate=q)
            value = accountant.get_epsilon(delta)
        return float(value)

    orders = tuple(map(float, accountants.RDPAccountant.DEFAULT_ALPHAS))
    noises = {f", tolerance {x:g}": opacus_noise(utils, "rdp", x) for x in (0.01, 1e-6)}
    return Peer("opacus", version, orders, epsilon, analysis._compute_log_a, live, noises)


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
    noise_multiplier: Noise | None = None


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
        for run in steps:
            ledger.compose(dp_step(events, run), run.steps)
        return ledger

    return CurvePeer(
        "dp_accounting PLD",
        version,
        lambda steps, delta: float(accountant(steps).get_epsilon(delta)),
        lambda steps, epsilon, _: float(accountant(steps).get_delta(epsilon)),
        dp_noise(events, pld.PLDAccountant),
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

    return CurvePeer(
        "opacus PRV",
        version,
        lambda steps, delta: float(accountant(steps).get_epsilon(delta)),
        delta,
        opacus_noise(utils, "prv", 0.01),
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
