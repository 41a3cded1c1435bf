"""The sentences: a guarantee to publish, and the assumptions it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renyi.cli.output import grouped, plain
from renyi.cli.runs import uses_of
from renyi.cli.samplings import POISSON, is_exact, scheme_of

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
    """Say what was run: steps, sampling and noise."""
    count, noise = record["steps"], plain(record["noise_multiplier"])
    steps = "One step of the" if count == 1 else f"The composition of {grouped(count)} steps of the"
    if record["sample_rate"] == 1.0 and scheme_of(options) == POISSON:
        return f"{steps} Gaussian mechanism without sampling (noise multiplier {noise})"
    if scheme_of(options) != POISSON:
        how = f"{scheme_of(options)} sampling, batch size {record['batch_size']}"
        where = f"of {grouped(record['dataset_size'])} records"
        return f"{steps} Gaussian mechanism with {how} {where} (noise multiplier {noise})"
    rate = rate_in_words(record)
    return (
        f"{steps} Poisson-sampled Gaussian mechanism "
        f"(sampling rate {rate}, noise multiplier {noise})"
    )


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


def assumptions(options: Any, *records: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Say what must be true of the training runs for their numbers to hold."""
    from renyi.mechanisms import Composed
    from renyi.mechanisms.assumptions import assumptions_of

    runs = [Composed(uses_of(options, record)) for record in records]
    found = [assumptions_of(run, options.adjacency) for run in runs]
    if all(one == found[0] for one in found):
        return found[0]
    sampled = min(zip(records, runs, strict=True), key=lambda pair: pair[0]["sample_rate"])[1]
    return assumptions_of(sampled, options.adjacency, general=True)


def method(options: Any, record: Mapping[str, Any], beside: bool = True) -> dict[str, str]:
    """How the number was computed; an empty record stands for a table of many."""
    if options.accountant == "rdp":
        accounting = f"Renyi-DP, {_renyi(options, record)}"
        return {"accounting": accounting, "conversion": _conversion(options)}
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
    chosen = (
        "all real orders"
        if options.orders is None
        else f"the {len(options.orders)} orders of --orders"
    )
    order = record.get("order")
    won = "" if order is None else f", best order {order:.6g}"
    return f"minimum over {chosen}{won}"


def _conversion(options: Any) -> str:
    return f"{options.conversion}: {CONVERSION_SOURCES[options.conversion]}"


def bracket(options: Any, record: Mapping[str, Any], wanted: str) -> str:
    """Return the certified ends of epsilon or delta."""
    low, high = (plain(record[f"{wanted}_{end}"]) for end in ("lower", "upper"))
    exact = "exact value of this conversion" if options.accountant == "rdp" else f"exact {wanted}"
    return f"{low} <= {wanted} <= {high} for the {exact}"


def notes(options: Any, record: Mapping[str, Any]) -> list[str]:
    """Remarks on settings that are legal and probably not what was meant."""
    remarks = []
    size = record.get("dataset_size")
    if size is not None and record["delta"] * size >= 1.0:
        remarks.append(
            f"delta {plain(record['delta'])} is not below 1 / data set size = {1 / size:.3g}: "
            "such a guarantee permits publishing a random record"
        )
    if record["delta"] > 0.999:
        remarks.append("a delta of 1 promises nothing; ask for a larger epsilon")
    order = record.get("order")
    if options.orders is not None and len(options.orders) > 1 and order is not None:
        if order == float(max(options.orders)):
            remarks.append(
                "the best order is the largest of --orders; larger ones may give a smaller number"
            )
        if order == float(min(options.orders)):
            remarks.append(
                "the best order is the smallest of --orders; smaller ones may give a smaller number"
            )
    return remarks
