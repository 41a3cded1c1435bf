"""Rényi bounds of mechanisms and samples as autodp and dp_accounting compute them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from peers import load

KINDS = ("Gaussian", "Laplace", "randomized response", "pure DP")


class Point(NamedTuple):
    rate: float
    noise: float
    order: float


class Peer(NamedTuple):
    name: str
    version: str


Formula = Callable[[Point], Any]


def answer(noise: float) -> float:
    """Probability of the true answer."""
    return 1 / (1 + math.exp(-1 / noise))


def autodp() -> tuple[Peer, dict[str, dict[str, Formula]]] | None:
    """Its formulas by the title of the case."""
    loaded = load("autodp", "autodp.rdp_acct", "autodp.rdp_bank")
    if loaded is None:
        return None
    version, (accounting, bank) = loaded

    def divergence(kind: str, noise: float, order: float) -> float:
        functions = {
            "Gaussian": lambda: bank.RDP_gaussian({"sigma": noise}, order),
            "Laplace": lambda: bank.RDP_laplace({"b": noise}, order),
            "randomized response": lambda: bank.RDP_randresponse({"p": answer(noise)}, order),
            "pure DP": lambda: bank.RDP_pureDP({"eps": 1 / noise}, order),
        }
        return float(functions[kind]())

    def sampled(kind: str, method: str, point: Point, **options: bool) -> float:
        accountant = accounting.anaRDPacct()
        base = partial(divergence, kind, point.noise)
        getattr(accountant, method)(base, point.rate, **options)
        return float(accountant.get_rdp([point.order])[0])

    found: dict[str, dict[str, Formula]] = {}
    for kind in KINDS:
        found[kind] = {"autodp": lambda point, k=kind: divergence(k, point.noise, point.order)}
        found[f"{kind}, Poisson, tight"] = {
            "autodp": partial(sampled, kind, "compose_poisson_subsampled_mechanisms")
        }
        found[f"{kind}, Poisson, general"] = {
            "autodp": partial(sampled, kind, "compose_poisson_subsampled_mechanisms1")
        }
        for improved in (False, True):
            title = f"{kind}, fixed size, Theorem {27 if improved else 9}"
            method = partial(
                sampled, kind, "compose_subsampled_mechanism", improved_bound_flag=improved
            )
            found[title] = {"autodp": method}
    return Peer("autodp", version), found


def dp_accounting() -> tuple[Peer, dict[str, dict[str, Formula]]] | None:
    """Its formulas by the title of the case, through its accountant."""
    loaded = load("dp-accounting", "dp_accounting", "dp_accounting.rdp")
    if loaded is None:
        return None
    version, (events, rdp) = loaded
    neighbours = rdp.rdp_privacy_accountant.NeighborRel

    def divergence(event: Any, order: float, relation: Any = None) -> float:
        orders = [order]
        options = {} if relation is None else {"neighboring_relation": relation}
        accountant = rdp.RdpAccountant(orders, **options)
        return float(accountant.compose(event)._rdp[0])

    def fixed(point: Point) -> float:
        event = events.SampledWithoutReplacementDpEvent(
            10**6, round(point.rate * 10**6), events.GaussianDpEvent(point.noise)
        )
        return divergence(event, point.order, neighbours.REPLACE_ONE)

    def poisson(point: Point) -> float:
        event = events.PoissonSampledDpEvent(point.rate, events.GaussianDpEvent(point.noise))
        return divergence(event, point.order)

    def selected(point: Point) -> float:
        orders = [point.order, *(1 + 10.0 ** np.linspace(-2, 4, 200))]
        event = events.dp_event.RepeatAndSelectDpEvent(events.GaussianDpEvent(point.noise), 10, 1)
        return float(rdp.RdpAccountant(orders).compose(event)._rdp[0])

    name = "dp_accounting"
    found: dict[str, dict[str, Formula]] = {
        "Gaussian": {
            name: lambda point: divergence(events.GaussianDpEvent(point.noise), point.order)
        },
        "Laplace": {
            name: lambda point: divergence(events.LaplaceDpEvent(point.noise), point.order)
        },
        "Gaussian, Poisson, exact": {name: poisson},
        "Gaussian, fixed size, Theorem 27": {name: fixed},
        "Gaussian, best of 10 runs": {name: selected},
    }
    return Peer(name, version), found
