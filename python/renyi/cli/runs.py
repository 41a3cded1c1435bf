"""Runs, their guarantees, and the sentences that describe them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from renyi._adjacency import CONVERSIONS, LARGEST_COUNT
from renyi._rounding import round_down
from renyi.cli.options import (
    DEVIATIONS,
    EXACT,
    IN_EPOCHS,
    OPTIONS,
    POISSON,
    UsageError,
    permitted_values,
)
from renyi.cli.output import grouped, plain

if TYPE_CHECKING:
    from renyi import PLDAccountant, RDPAccountant
    from renyi.mechanisms import Mechanism


def without_tuning(options: argparse.Namespace) -> argparse.Namespace:
    """Return the options of one run."""
    return argparse.Namespace(**{**vars(options), "tuning_runs": None})


def batches_of_epoch(options: argparse.Namespace, run: Mapping[str, Any]) -> int:
    """Return the number of batches that an epoch deals the records to; 1 without epochs."""
    if options.sampling not in IN_EPOCHS:
        return 1
    return -(-int(run["dataset_size"]) // int(run["batch_size"]))


def check_sampling(options: argparse.Namespace) -> None:
    """Refuse a sampling scheme without the sizes that define it."""
    scheme = options.sampling
    if options.batch_limit is not None and scheme != "truncated-poisson":
        raise UsageError("--batch-limit needs --sampling truncated-poisson")
    if scheme != POISSON and options.batch_size is None:
        raise UsageError(f"--sampling {scheme} needs --batch-size and --dataset-size")


def is_exact(options: argparse.Namespace) -> bool:
    """Return whether the curve is that of the worst neighbours, not an upper bound of it."""
    scheme = options.sampling
    exact = scheme == POISSON or (scheme in EXACT and options.adjacency != "replace_one")
    return exact and not options.tuning_runs


def plan_settings(options: argparse.Namespace, run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the plan of a run, except its noise and its length."""
    scheme, size = options.sampling, run["batch_size"]
    settings = {
        "population": run["dataset_size"],
        "batch_size": size,
        "sampling": scheme.replace("-", "_"),
        "adjacency": options.adjacency,
    }
    if scheme == "truncated-poisson":
        limit = options.batch_limit or math.ceil(size + DEVIATIONS * math.sqrt(size))
        settings["batch_limit"] = min(limit, run["dataset_size"])
    return settings


def most_steps(options: argparse.Namespace, cell: Mapping[str, Any], accountant: str) -> int:
    """Return the largest number of steps that stays within a target, or 0."""
    from renyi.calibration import calibrate
    from renyi.sgd import TrainingPlan

    settings = plan_settings(options, cell)
    one = TrainingPlan(noise_multiplier=cell["noise_multiplier"], steps=1, **settings)

    def releases(count: int) -> Mechanism:
        return one.step_mechanism * count

    find: Callable[..., float] = calibrate
    most = 2
    target = {"target_epsilon": cell["epsilon"], "target_delta": cell["delta"]}
    method = {"accountant": accountant, "adjacency": options.adjacency}
    while True:  # from small to large: many releases take longer
        found = int(find(releases, (0, most), integer=True, **target, **method))
        if found < most or most >= LARGEST_COUNT // one.steps_per_release:
            return min(found * one.steps_per_release, LARGEST_COUNT)
        most = min(8 * most, LARGEST_COUNT // one.steps_per_release)


Fields = dict[str, Any]


def require(options: argparse.Namespace, *names: str) -> None:
    """Stop with a message naming the first option that is missing and what it permits."""
    for name in names:
        if getattr(options, name) is None:
            words = permitted_values(options.parser, name)
            raise UsageError(f"{OPTIONS[name].flag} is required ({words})")


def given_and_wanted(options: argparse.Namespace, verb: str) -> tuple[str, str]:
    """Return which of epsilon and delta is given, and the other one."""
    if options.epsilon is not None and options.delta is not None:
        raise UsageError(f"--epsilon excludes --delta: one is given, the other {verb}")
    if options.epsilon is None and options.delta is None:
        epsilon, delta = (permitted_values(options.parser, name) for name in ("epsilon", "delta"))
        raise UsageError(f"--delta is required ({delta}), or --epsilon ({epsilon})")
    return ("delta", "epsilon") if options.epsilon is None else ("epsilon", "delta")


def samplings(options: argparse.Namespace) -> list[tuple[Fraction, Fields]]:
    """Return each sampling rate, exactly, and the fields of an output record that describe it."""
    check_sampling(options)
    batches, datasets = options.batch_size, options.dataset_size
    if options.sample_rate is not None:
        if batches is not None:
            raise UsageError(
                "--sample-rate excludes --batch-size: the rate is batch size / data set size"
            )
        sizes = [{}] if datasets is None else [{"dataset_size": size} for size in datasets]
        rates = options.sample_rate
        return [(q, {**size, "sample_rate": float(q)}) for size, q in product(sizes, rates)]
    if batches is None and datasets is None:
        raise UsageError(
            f"--sample-rate is required ({permitted_values(options.parser, 'sample_rate')}; "
            "1 means no sampling), or --batch-size with --dataset-size"
        )
    if batches is None or datasets is None:
        words = "--dataset-size needs --batch-size", "--batch-size needs --dataset-size"
        domain = permitted_values(options.parser, "batch_size")
        raise UsageError(f"{words[batches is not None]} ({domain})")
    found = []
    for dataset, batch in product(datasets, batches):
        if batch > dataset:
            raise UsageError(
                f"--batch-size must be at most --dataset-size ({dataset}), got {batch}"
            )
        fields = {"batch_size": batch, "dataset_size": dataset, "sample_rate": batch / dataset}
        found.append((Fraction(batch, dataset), fields))
    return found


def lengths(options: argparse.Namespace, rate: Fraction, sampling: Fields) -> list[Fields]:
    """Return the numbers of steps as fields of a record, with the epochs they follow from.

    Where every record is in one batch of an epoch, an epoch that has begun counts as a whole.
    Otherwise steps = ceil(epochs * data set size / batch size), in exact arithmetic: never fewer
    than the run takes.
    """
    if options.steps is not None and options.epochs is not None:
        raise UsageError("--steps excludes --epochs: steps = ceil(epochs / sampling rate)")
    batches = batches_of_epoch(options, sampling)
    if options.steps is not None:
        return [{"steps": -(-steps // batches) * batches} for steps in options.steps]
    if options.epochs is None:
        raise UsageError(
            f"--steps is required ({permitted_values(options.parser, 'steps')}), or --epochs"
        )
    whole = all(epochs.denominator == 1 for epochs in options.epochs)
    if options.sampling in IN_EPOCHS and not whole:
        raise UsageError(f"--epochs must be whole numbers with --sampling {options.sampling}")
    return [
        {
            "epochs": float(epochs),
            "steps": int(epochs) * batches if batches > 1 else math.ceil(epochs / rate),
        }
        for epochs in options.epochs
    ]


def combinations(given: Mapping[str, Sequence[Any]]) -> list[Fields]:
    """Return all combinations of the values of some options; decimals become doubles."""
    values = [[v if isinstance(v, int) else float(v) for v in each] for each in given.values()]
    return [dict(zip(given, each, strict=True)) for each in product(*values)]


def every(options: argparse.Namespace, **targets: Sequence[Any]) -> list[Fields]:
    """Return all combinations of targets, noise (if given), sampling and length."""
    given = dict(targets)
    if getattr(options, "noise_multiplier", None) is not None:
        given["noise_multiplier"] = options.noise_multiplier
    return [
        {**values, **sampling, **length}
        for values in combinations(given)
        for rate, sampling in samplings(options)
        for length in lengths(options, rate, sampling)
    ]


def single(options: argparse.Namespace, name: str) -> float:
    """Return the only value of an option."""
    values = getattr(options, name)
    if len(values) != 1:
        raise UsageError(f"--{name.replace('_', '-')} must be one number, got {len(values)}")
    return float(values[0])


def one_run(options: argparse.Namespace, said: str) -> Fields:
    """Return the only run that is described; ``said`` begins the message if there are more."""
    require(options, "noise_multiplier")
    single(options, "noise_multiplier")
    found = every(options)
    if len(found) != 1:
        raise UsageError(f"{said} one run, got {len(found)}")
    return found[0]


def check_method(options: argparse.Namespace) -> None:
    """Refuse options of the accountant that is not used, and set the default conversion."""
    if options.accountant == "pld":
        for flag, value in (("--orders", options.orders), ("--conversion", options.conversion)):
            if value is not None:
                raise UsageError(f"{flag} needs --accountant rdp: the exact curve has no orders")
    elif options.adjacency != "add_remove":
        raise UsageError(f"--adjacency {options.adjacency} needs --accountant pld")
    if options.conversion is None:
        options.conversion = CONVERSIONS[0]


def curve_accountant(options: argparse.Namespace, run: Mapping[str, Any]) -> PLDAccountant:
    """Return an exact accountant of the whole run."""
    from renyi import PLDAccountant

    return PLDAccountant(adjacency=options.adjacency).compose(*uses_of(options, run))


def renyi_accountant(options: argparse.Namespace, run: Mapping[str, Any]) -> RDPAccountant:
    """Return a Renyi-DP accountant of the whole run."""
    from renyi import RDPAccountant

    accountant = RDPAccountant(adjacency=options.adjacency, **renyi_options(options))
    return accountant.compose(*uses_of(options, run))


def renyi_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments that Renyi-DP accountants and calibrations share."""
    orders = None if options.orders is None else sorted({float(order) for order in options.orders})
    return {"orders": orders, "conversion": options.conversion}


def uses_of(options: argparse.Namespace, run: Mapping[str, Any]) -> tuple[Mechanism, int]:
    """Return the mechanism of a run, and the number of its uses; with tuning, of all runs."""
    from renyi import Gaussian, PoissonSampled, RepeatAndSelect

    noise, count, rate = run["noise_multiplier"], run["steps"], run["sample_rate"]
    mechanism: Mechanism = Gaussian(noise)
    if options.sampling != POISSON:
        from renyi.sgd import TrainingPlan

        settings = plan_settings(options, run)
        plan = TrainingPlan(noise_multiplier=noise, steps=count, **settings)
        mechanism, count = plan.step_mechanism, plan.releases
    elif rate != 1.0:
        mechanism = PoissonSampled(mechanism, rate)
    if options.tuning_runs is None:
        return mechanism, count
    return RepeatAndSelect(mechanism * count, options.tuning_runs, 1.0), 1


def price(options: argparse.Namespace, run: Mapping[str, Any], given: str, value: float) -> Fields:
    """Return epsilon or delta of a run by the chosen accountant, and by Renyi-DP beside it.

    The fields are the number, the bracket of its exact value, and its direction or order.
    """
    wanted = "epsilon" if given == "delta" else "delta"
    ends = f"{wanted}_lower", f"{wanted}_upper"
    record: Fields = {}
    if options.tuning_runs:
        alone = price(without_tuning(options), run, given, value)
        record[f"{wanted}_of_one_run"] = headline(alone, wanted)
    number = order = None
    if options.accountant == "rdp" or options.adjacency != "replace_one":
        moments = renyi_accountant(options, run)
        number, order = map(float, getattr(moments, f"get_{wanted}_and_order")(value))
        order = order if math.isfinite(order) else None
    if options.accountant == "rdp":
        bounds = map(float, getattr(moments, f"get_{wanted}_bounds")(value))
        return {**record, wanted: number, **dict(zip(ends, bounds, strict=True)), "order": order}
    ask, direction = getattr(curve_accountant(options, run), f"get_{wanted}_bounds"), None
    if options.adjacency == "replace_one":
        lower, upper = ask(value)
    else:
        remove, add = ask(value, direction="remove"), ask(value, direction="add")
        lower, upper = max(remove[0], add[0]), max(remove[1], add[1])
        worse = "remove" if remove[1] > add[1] else "add"
        direction = "both" if remove[1] == add[1] else worse
    record |= {wanted: upper, ends[0]: lower, ends[1]: upper, "direction": direction}
    return {**record, f"{wanted}_rdp": number, "order": order}


def headline(record: Mapping[str, Any], wanted: str) -> float:
    """Return the number to publish: never below the certified upper end."""
    return float(max(record[wanted], record[f"{wanted}_upper"]))


def saving(number: float, other: float | None) -> str | None:
    """Return how far ``number`` is below ``other`` in words, rounded down; None if it is not below.

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


CONVERSION_SOURCES = {
    "optimal": "the optimal conversion of Asoodeh et al. 2020",
    "asoodeh": "the closed-form conversion of Asoodeh et al. 2020",
    "balle": "the conversion of Balle et al. 2020 and Canonne, Kamath and Steinke 2020",
    "mironov": "the conversion of Mironov 2017",
}

_CHANGES = {
    "add_remove": "the addition or removal of one record",
    "replace_one": "the replacement of one record",
    "zero_out": "the replacement of one record by one that contributes nothing",
}
_DIRECTIONS = {"remove": "one record removed", "add": "one record added"}


def curve_in_words(options: Any) -> str:
    """Say whether the curve is that of the worst neighbours."""
    return "exact curve" if is_exact(options) else "proven bound"


def run_in_words(options: Any, record: Mapping[str, Any]) -> str:
    """Describe the run: steps, sampling and noise, and the number of runs."""
    if options.tuning_runs is not None:
        one, tuning = run_in_words(without_tuning(options), record), plain(options.tuning_runs)
        return (
            f"The best of a geometric number of runs, {tuning} on average, each "
            f"{one[0].lower()}{one[1:]}"
        )
    count, noise = record["steps"], plain(record["noise_multiplier"])
    steps = "One step of the" if count == 1 else f"The composition of {grouped(count)} steps of the"
    if options.sampling != POISSON:
        how = f"{options.sampling} sampling, batch size {record['batch_size']}"
        where = f"of {grouped(record['dataset_size'])} records"
        return f"{steps} Gaussian mechanism with {how} {where} (noise multiplier {noise})"
    if record["sample_rate"] == 1.0:
        return f"{steps} Gaussian mechanism without sampling (noise multiplier {noise})"
    rate = f"sampling rate {rate_in_words(record)}"
    return f"{steps} Poisson-sampled Gaussian mechanism ({rate}, noise multiplier {noise})"


def rate_in_words(record: Mapping[str, Any]) -> str:
    """Return the sampling rate as it was given."""
    if record.get("batch_size") is None:
        return plain(record["sample_rate"])
    return f"{record['batch_size']}/{record['dataset_size']}"


def statement(options: Any, record: Mapping[str, Any], epsilon: str, delta: str) -> str:
    """One sentence to publish; ``epsilon`` and ``delta`` are the rounded texts."""
    from renyi import __version__

    if options.accountant == "rdp":
        order = record["order"]
        at_order = "" if order is None else f" at order {order:.4g}"
        source = (
            "this is an upper bound obtained by Renyi differential privacy (Mironov 2017; "
            f"Mironov, Talwar and Zhang 2019){at_order} with "
            f"{CONVERSION_SOURCES[options.conversion]}"
        )
    else:
        source = (
            "this is the exact privacy curve of the composition (its dominating pair: Zhu, Dong "
            "and Wang 2022), rounded up"
            if is_exact(options)
            else "this is a proven upper bound of the privacy curve"
        )
    return (
        f"{run_in_words(options, record)} satisfies ({epsilon}, {delta})-differential privacy "
        f"under {_CHANGES[options.adjacency]}; {source}, computed with renyi {__version__}."
    )


def composition_statement(adjacency: str, epsilon: str, delta: str, source: str) -> str:
    """One sentence to publish of mechanisms that a file describes."""
    from renyi import __version__

    by = "the exact privacy curve" if source == "exact curve" else "Renyi differential privacy"
    return (
        f"The composition of the mechanisms above satisfies ({epsilon}, {delta})-differential "
        f"privacy under {_CHANGES[adjacency]}; this is an upper bound by {by} of the composition, "
        f"computed with renyi {__version__}."
    )


def assumptions_in_words(options: Any, *records: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Say what must be true of the training runs for their numbers to hold."""
    from renyi.mechanisms import Composed
    from renyi.mechanisms.assumptions import assumptions_of

    runs = [Composed(uses_of(options, record)) for record in records]
    found = [assumptions_of(run, options.adjacency) for run in runs]
    if all(one == found[0] for one in found):
        return found[0]
    sampled = min(zip(records, runs, strict=True), key=lambda pair: pair[0]["sample_rate"])[1]
    return assumptions_of(sampled, options.adjacency, general=True)


def method_in_words(options: Any, record: Mapping[str, Any], beside: bool = True) -> dict[str, str]:
    """Describe the computation of a number, or with an empty record of a table."""
    if options.accountant == "rdp":
        source = f"{options.conversion}: {CONVERSION_SOURCES[options.conversion]}"
        return {"accounting": f"Renyi-DP, {_renyi(options, record)}", "conversion": source}
    exact = f"{curve_in_words(options)} of the composition, rounded up"
    if getattr(options, "tradeoff", False):
        exact = "exact trade-off function of the composition, rounded down"
    if options.adjacency == "replace_one":
        return {"accounting": exact}
    facts = {
        "accounting": f"{exact}; the worse of both directions{_decides(record.get('direction'))}"
    }
    if beside:
        conversion = CONVERSION_SOURCES[options.conversion]
        facts["Renyi-DP"] = f"for comparison: {_renyi(options, record)}, {conversion}"
    return facts


def _decides(direction: str | None) -> str:
    if direction is None:
        return ""
    return " (they agree)" if direction == "both" else f": {_DIRECTIONS[direction]}"


def _renyi(options: Any, record: Mapping[str, Any]) -> str:
    orders, order = options.orders, record.get("order")
    chosen = "all real orders" if orders is None else f"the {len(orders)} orders of --orders"
    won = "" if order is None else f", best order {order:.6g}"
    return f"minimum over {chosen}{won}"


def bracket_in_words(options: Any, record: Mapping[str, Any], wanted: str) -> str:
    """Return the certified ends of epsilon or delta."""
    low, high = (plain(record[f"{wanted}_{end}"]) for end in ("lower", "upper"))
    exact = "exact value of this conversion" if options.accountant == "rdp" else f"exact {wanted}"
    return f"{low} <= {wanted} <= {high} for the {exact}"


def remarks(options: Any, record: Mapping[str, Any]) -> list[str]:
    """Return remarks on settings that are permitted but probably a mistake."""
    found = []
    size = record.get("dataset_size")
    if size is not None and record["delta"] * size >= 1.0:
        found.append(
            f"delta {plain(record['delta'])} is not below 1 / data set size = {1 / size:.3g}: "
            "such a guarantee permits publishing a random record"
        )
    if record["delta"] > 0.999:
        found.append("a delta of 1 promises nothing; ask for a larger epsilon")
    order = record.get("order")
    if options.orders is not None and len(options.orders) > 1 and order is not None:
        found += [
            f"the best order is the {end} of --orders; {beyond} ones may give a smaller number"
            for end, beyond, order_at in (("largest", "larger", max), ("smallest", "smaller", min))
            if order == float(order_at(options.orders))
        ]
    return found
