"""The sentences: a guarantee to publish, and the assumptions it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renyi.cli.output import grouped, plain

CONVERSION_SOURCES = {
    "optimal": "the optimal conversion of Asoodeh et al. 2020",
    "asoodeh": "the closed-form conversion of Asoodeh et al. 2020",
    "balle": "the conversion of Balle et al. 2020 and Canonne, Kamath and Steinke 2020",
    "mironov": "the conversion of Mironov 2017",
}

# Machine-readable: these names go into JSON and CSV.
SAMPLING = "poisson"
ADJACENCY = "add_remove"


def run_in_words(record: Mapping[str, Any]) -> str:
    """Say what was run: steps, sampling and noise."""
    count, noise = record["steps"], plain(record["noise_multiplier"])
    steps = "One step of the" if count == 1 else f"The composition of {grouped(count)} steps of the"
    if record["sample_rate"] == 1.0:
        return f"{steps} Gaussian mechanism without sampling (noise multiplier {noise})"
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


def statement(record: Mapping[str, Any], epsilon: str, delta: str, conversion: str) -> str:
    """One sentence to publish; ``epsilon`` and ``delta`` are the rounded texts."""
    from renyi import __version__

    order = record["order"]
    at_order = "" if order is None else f" at order {order:.4g}"
    return (
        f"{run_in_words(record)} satisfies ({epsilon}, {delta})-differential privacy "
        "under the addition or removal of one record; this is an upper bound obtained by "
        f"Renyi differential privacy (Mironov 2017; Mironov, Talwar and Zhang 2019){at_order} with "
        f"{CONVERSION_SOURCES[conversion]}, computed with renyi {__version__}."
    )


def assumptions(record: Mapping[str, Any]) -> dict[str, str]:
    """Say what must be true of the training run for the number to hold."""
    if record["sample_rate"] == 1.0:
        sampling = "none: every record takes part in every step"
    else:
        sampling = (
            "Poisson: each record enters each step independently with probability "
            f"{rate_in_words(record)}; shuffled or fixed-size batches are not covered"
        )
    return {
        "sampling": sampling,
        "adjacency": "add or remove one record (not: replace one)",
        "noise": "normal, standard deviation = noise multiplier x L2 clipping norm of one record, "
        "added to the sum over the batch",
        "release": "the results of all steps may be seen, not only the last",
    }


def method(options: Any, record: Mapping[str, Any]) -> dict[str, str]:
    """How the number was computed."""
    chosen = (
        "all real orders"
        if options.orders is None
        else f"the {len(options.orders)} orders of --orders"
    )
    order = record["order"]
    won = "" if order is None else f", best order {order:.6g}"
    return {
        "accounting": f"Renyi-DP, minimum over {chosen}{won}",
        "conversion": f"{options.conversion}: {CONVERSION_SOURCES[options.conversion]}",
    }


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
    order = record["order"]
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
