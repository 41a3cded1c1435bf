"""Mechanisms of autodp's zoo as mechanisms of this package.

Only the mechanism is converted, not its accounting: by the class and parameters of a mechanism of
the zoo, and by the name where ``AmplificationBySampling`` made a Poisson sample of one. Results of
other transformers keep no record of their parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autodp import autodp_core
from autodp import mechanism_zoo as zoo

from renyi import mechanisms as own

__all__ = ["from_autodp"]

Parameters = Mapping[str, Any]

# Class; its name, which that of a sample ends in; its parameters, which a sample has besides.
BASIC: dict[type, tuple[str, tuple[str, ...], Callable[..., own.Mechanism]]] = {
    zoo.ExactGaussianMechanism: ("Gaussian", ("sigma",), own.Gaussian),
    zoo.ExponentialMechanism: (
        "ExpMech",
        ("eps", "rho", "xi"),
        lambda eps, *_: own.Exponential(eps),
    ),
    zoo.GaussianMechanism: ("Gaussian", ("sigma",), own.Gaussian),
    zoo.LaplaceMechanism: ("Laplace", ("b",), own.Laplace),
    zoo.PureDP_Mechanism: ("PureDP", ("eps",), own.PureDP),
    zoo.RandresponseMechanism: ("Randresponse", ("p",), own.RandomizedResponse),
    zoo.zCDP_Mechanism: ("zCDP_mech", ("rho", "xi"), own.ZCDP),
}
OTHER: dict[type, Callable[[Parameters], own.Mechanism]] = {
    zoo.ComposedGaussianMechanism: lambda given: own.Gaussian(given["sigma"]) * given["coeff"],
    zoo.DiscreteGaussianMechanism: lambda given: own.ZCDP(given["rho"], given["xi"]),
    zoo.NoisyGD_Mechanism: lambda given: own.Composed(
        *((own.Gaussian(noise), 1) for noise in given["sigma_list"])
    ),
    zoo.NoisySGD_Mechanism: lambda given: _run(given, given["niter"]),
    zoo.SubsampleGaussianMechanism: lambda given: _run(given, given["coeff"]),
}
SAMPLE = "PoissonSample"
INSTEAD = {
    "Compose": "add up its parts, converted: from_autodp(m1) * c1 + from_autodp(m2) * c2",
    "Subsample:": "FixedSizeSampled(mechanism, size, population) with adjacency replace_one",
}
CURVE = "its Rényi curve, RDPCurve(None, mechanism.RenyiDP), is as right as autodp has it"


def from_autodp(mechanism: Any) -> own.Mechanism:
    """Return a mechanism of autodp as one of this package.

    Args:
        mechanism (autodp.autodp_core.Mechanism): A mechanism of ``autodp.mechanism_zoo``, or a
            Poisson sample of one by ``AmplificationBySampling``.

    Raises:
        TypeError: If it is another mechanism; the message names an alternative.

    >>> from autodp.mechanism_zoo import GaussianMechanism, NoisySGD_Mechanism
    >>> from_autodp(GaussianMechanism(2.0))
    Gaussian(noise_multiplier=2.0)
    >>> print(from_autodp(NoisySGD_Mechanism(prob=0.01, sigma=1.0, niter=1000)).describe())
    1000 x
      Poisson sample, rate 0.01, of
        Gaussian noise, multiplier 1
    """
    kind, name = type(mechanism), str(getattr(mechanism, "name", ""))
    if issubclass(kind, autodp_core.Mechanism) and not name.startswith("Compose:"):
        given = dict(mechanism.params)
        if kind is autodp_core.Mechanism and SAMPLE in given:
            rate = given.pop(SAMPLE)
            for basic, fields, made in BASIC.values():
                if name == f"{SAMPLE}:{basic}" and given.keys() == set(fields):
                    return own.PoissonSampled(made(*(given[field] for field in fields)), rate)
        if kind in BASIC:
            _, fields, made = BASIC[kind]
            return made(*(given[field] for field in fields))
        if kind in OTHER and given.get("PoissonSampling", True):
            return OTHER[kind](given)
    found = f"{kind.__name__} {name!r}"
    remedy = next((words for sign, words in INSTEAD.items() if sign in found), CURVE)
    raise TypeError(f"mechanism must be of autodp's zoo and known here, got {found}: {remedy}")


def _run(given: Parameters, steps: int) -> own.Mechanism:
    return own.PoissonSampled(own.Gaussian(given["sigma"]), given["prob"]) * steps
