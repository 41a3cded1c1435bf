"""What is run, and what it costs."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from renyi.cli.options import CONVERSIONS, OPTIONS
from renyi.cli.output import round_down
from renyi.cli.samplings import (
    IN_EPOCHS,
    POISSON,
    batches_of_epoch,
    check_sampling,
    plan_of,
    scheme_of,
)
from renyi.cli.values import UsageError, permitted

if TYPE_CHECKING:
    from renyi import PLDAccountant, RDPAccountant
    from renyi.mechanisms import Mechanism

__all__ = ["headline", "price", "saving"]


# From options to training settings: sampling rate, steps, and the accountants that price them.


@dataclass(frozen=True)
class Sampling:
    """A sampling rate, and the sizes it came from if they were given."""

    exact: Fraction
    batch_size: int | None = None
    dataset_size: int | None = None

    @property
    def rate(self) -> float:
        """The nearest double."""
        return float(self.exact)

    def fields(self) -> dict[str, Any]:
        """Return the part of an output record that describes the sampling."""
        if self.batch_size is None:
            size = {} if self.dataset_size is None else {"dataset_size": self.dataset_size}
            return {**size, "sample_rate": self.rate}
        return {
            "batch_size": self.batch_size,
            "dataset_size": self.dataset_size,
            "sample_rate": self.rate,
        }


@dataclass(frozen=True)
class Length:
    """A number of steps, and the epochs it came from if they were given."""

    steps: int
    epochs: Fraction | None = None

    def fields(self) -> dict[str, Any]:
        """Return the part of an output record that describes the length."""
        if self.epochs is None:
            return {"steps": self.steps}
        return {"epochs": float(self.epochs), "steps": self.steps}


def require(options: argparse.Namespace, *names: str) -> None:
    """Stop with a message naming the first option that is missing and what it permits."""
    for name in names:
        if getattr(options, name) is None:
            option = OPTIONS[name]
            raise UsageError(f"{option.flag} is required ({permitted(option.domain)})")


def samplings(options: argparse.Namespace) -> list[Sampling]:
    """Return the sampling rates: ``--sample-rate``, or ``--batch-size`` / ``--dataset-size``."""
    check_sampling(options)
    batches, datasets = options.batch_size, options.dataset_size
    if options.sample_rate is not None:
        if batches is not None:
            raise UsageError(
                "--sample-rate excludes --batch-size: the rate is batch size / data set size"
            )
        sizes = [None] if datasets is None else [int(size) for size in datasets]
        return [Sampling(rate, None, size) for size in sizes for rate in options.sample_rate]
    if batches is None and datasets is None:
        raise UsageError(
            f"--sample-rate is required ({permitted(OPTIONS['sample_rate'].domain)}; "
            "1 means no sampling), or --batch-size with --dataset-size"
        )
    if batches is None or datasets is None:
        given, missing = ("--dataset-size", "--batch-size")
        if datasets is None:
            given, missing = missing, given
        raise UsageError(f"{given} needs {missing} ({permitted(OPTIONS['batch_size'].domain)})")
    pairs = [(int(batch), int(dataset)) for dataset in datasets for batch in batches]
    for batch, dataset in pairs:
        if batch > dataset:
            raise UsageError(
                f"--batch-size must be at most --dataset-size ({dataset}), got {batch}"
            )
    return [Sampling(Fraction(batch, dataset), batch, dataset) for batch, dataset in pairs]


def lengths(options: argparse.Namespace, sampling: Sampling) -> list[Length]:
    """Return the numbers of steps: ``--steps``, or ``--epochs`` by ``steps_of_epochs``.

    Where every record is in one batch of an epoch, epochs that are begun count whole.
    """
    if options.steps is not None and options.epochs is not None:
        raise UsageError("--steps excludes --epochs: steps = ceil(epochs / sampling rate)")
    batches = batches_of_epoch(options, sampling.fields())
    if options.steps is not None:
        return [Length(-(-int(steps) // batches) * batches) for steps in options.steps]
    if options.epochs is None:
        raise UsageError(f"--steps is required ({permitted(OPTIONS['steps'].domain)}), or --epochs")
    scheme = scheme_of(options)
    for epochs in options.epochs if scheme in IN_EPOCHS else ():
        if epochs.denominator != 1:
            raise UsageError(f"--epochs must be whole numbers with --sampling {scheme}")
    return [Length(steps_of_epochs(epochs, sampling, batches), epochs) for epochs in options.epochs]


def steps_of_epochs(epochs: Fraction, sampling: Sampling, batches: int) -> int:
    """Return the steps of some epochs of so many batches, or of 1 where there are no epochs.

    Then ceil(epochs * data set size / batch size), in exact arithmetic. Rounding up never counts
    fewer steps than were run.
    """
    return int(epochs) * batches if batches > 1 else math.ceil(epochs / sampling.exact)


def check_method(options: argparse.Namespace) -> None:
    """Refuse options of one accountant beside the other, and settle the conversion."""
    if options.accountant == "pld":
        for flag, value in (("--orders", options.orders), ("--conversion", options.conversion)):
            if value is not None:
                raise UsageError(f"{flag} needs --accountant rdp: the exact curve has no orders")
    elif options.adjacency != "add_remove":
        raise UsageError(f"--adjacency {options.adjacency} needs --accountant pld")
    if options.conversion is None:
        options.conversion = CONVERSIONS[0]


def curve_accountant(options: argparse.Namespace, run: Mapping[str, Any]) -> PLDAccountant:
    """Return an exact accountant that has seen the whole run."""
    from renyi import PLDAccountant

    return PLDAccountant(adjacency=options.adjacency).compose(*uses_of(options, run))


def renyi_accountant(options: argparse.Namespace, run: Mapping[str, Any]) -> RDPAccountant:
    """Return a Renyi-DP accountant that has seen the whole run."""
    from renyi import RDPAccountant

    accountant = RDPAccountant(adjacency=options.adjacency, **renyi_options(options))
    return accountant.compose(*uses_of(options, run))


def renyi_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments that Renyi-DP accountants and calibrations share."""
    orders = None if options.orders is None else sorted({float(order) for order in options.orders})
    return {"orders": orders, "conversion": options.conversion}


def uses_of(options: argparse.Namespace, run: Mapping[str, Any]) -> tuple[Mechanism, int]:
    """Return what a run consists of, and how often."""
    if scheme_of(options) == POISSON:
        return step_of(run), run["steps"]
    plan = plan_of(options, run)
    return plan.step_mechanism, plan.releases


def step_of(run: Mapping[str, Any]) -> Mechanism:
    """Return a step of a run."""
    from renyi import Gaussian, PoissonSampled

    gaussian = Gaussian(run["noise_multiplier"])
    rate = run["sample_rate"]
    return gaussian if rate == 1.0 else PoissonSampled(gaussian, rate)


# What a run costs: epsilon or delta by the accountant asked for, and by Renyi-DP beside it.


def price(
    options: argparse.Namespace, run: Mapping[str, Any], given: str, value: float
) -> dict[str, Any]:
    """Price one run: the number, the bracket of its exact value, and where it comes from."""
    if options.accountant == "rdp":
        return _by_renyi(options, run, given, value)
    wanted = "epsilon" if given == "delta" else "delta"
    record = _by_curve(options, run, given, value)
    number, order = None, None
    if options.adjacency != "replace_one":
        account = renyi_accountant(options, run)
        ask = account.get_epsilon_and_order if given == "delta" else account.get_delta_and_order
        number, order = _number_and_order(*ask(value))
    return {**record, f"{wanted}_rdp": number, "order": order}


def _by_curve(
    options: argparse.Namespace, run: Mapping[str, Any], given: str, value: float
) -> dict[str, Any]:
    account = curve_accountant(options, run)
    bounds: Callable[..., tuple[float, float]]
    if given == "delta":
        wanted, bounds = "epsilon", account.get_epsilon_bounds
    else:
        wanted, bounds = "delta", account.get_delta_bounds
    direction = None
    if options.adjacency == "replace_one":
        lower, upper = bounds(value)
    else:
        remove, add = bounds(value, direction="remove"), bounds(value, direction="add")
        lower, upper = max(remove[0], add[0]), max(remove[1], add[1])
        worse = "remove" if remove[1] > add[1] else "add"
        direction = "both" if remove[1] == add[1] else worse
    return {
        wanted: upper,
        f"{wanted}_lower": lower,
        f"{wanted}_upper": upper,
        "direction": direction,
    }


def _by_renyi(
    options: argparse.Namespace, run: Mapping[str, Any], given: str, value: float
) -> dict[str, Any]:
    account = renyi_accountant(options, run)
    if given == "delta":
        wanted = "epsilon"
        number, order = account.get_epsilon_and_order(value)
        lower, upper = account.get_epsilon_bounds(value)
    else:
        wanted = "delta"
        number, order = account.get_delta_and_order(value)
        lower, upper = account.get_delta_bounds(value)
    return {
        wanted: float(number),
        f"{wanted}_lower": float(lower),
        f"{wanted}_upper": float(upper),
        "order": _number_and_order(number, order)[1],
    }


def _number_and_order(number: Any, order: Any) -> tuple[float, float | None]:
    """Return both as Python has them; no order where none is finite."""
    return float(number), float(order) if math.isfinite(order) else None


def headline(record: Mapping[str, Any], wanted: str) -> float:
    """Return the number to publish: never below the certified upper end."""
    return float(max(record[wanted], record[f"{wanted}_upper"]))


def saving(number: float, other: float | None) -> str | None:
    """Say how much ``number`` is below ``other``, rounded down; None where it is not below.

    Examples
    --------
    >>> saving(2.295, 2.503), saving(1e-8, 3.5e-7), saving(2.0, 2.0)
    ('8.3 %', 'factor 35', None)
    """
    if other is None or not 0.0 < number < other < math.inf:
        return None
    ratio = Decimal(other) / Decimal(number)
    if ratio >= 2:
        return f"factor {round_down(float(ratio), 2)}"
    percent = ((1 - 1 / ratio) * 100).quantize(Decimal("0.1"), ROUND_FLOOR)
    return f"{percent} %" if percent else None
