"""The options, each described once, and a parser whose errors are one helpful line."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from renyi.cli import values
from renyi.cli.values import Domain


@dataclass(frozen=True)
class Option:
    """An option that takes numbers."""

    flag: str
    domain: Domain
    help: str
    metavar: str


OPTIONS = {
    "noise_multiplier": Option(
        "--noise-multiplier",
        values.POSITIVE,
        "standard deviation of the noise / clipping norm (> 0)",
        "SIGMA",
    ),
    "sample_rate": Option(
        "--sample-rate",
        values.RATE,
        "probability with which each record enters a step (0 < Q <= 1; 1 means no sampling)",
        "Q",
    ),
    "batch_size": Option(
        "--batch-size",
        values.COUNT,
        "expected batch size; with --dataset-size instead of --sample-rate",
        "B",
    ),
    "dataset_size": Option(
        "--dataset-size",
        values.COUNT,
        "number of records; sampling rate = batch size / data set size",
        "N",
    ),
    "steps": Option("--steps", values.USES, "number of noisy steps (a whole number >= 1)", "T"),
    "epochs": Option(
        "--epochs",
        values.POSITIVE,
        "instead of --steps: steps = ceil(epochs * data set size / batch size)",
        "E",
    ),
    "epsilon": Option(
        "--epsilon", values.NOT_NEGATIVE, "the epsilon of (epsilon, delta), >= 0", "EPS"
    ),
    "target_epsilon": Option(
        "--epsilon", values.POSITIVE, "the epsilon of (epsilon, delta) to meet, > 0", "EPS"
    ),
    "target": Option(
        "--target",
        values.POSITIVE,
        "with --delta, instead of a noise multiplier: compare the noise that each method needs",
        "EPS",
    ),
    "delta": Option(
        "--delta",
        values.PROBABILITY,
        "the delta of (epsilon, delta), 0 < delta < 1; well below 1 / number of records",
        "DELTA",
    ),
    "orders": Option(
        "--orders",
        values.ORDER,
        "with --accountant rdp: Renyi orders (> 1, <= 1e6) to choose from; default: all real",
        "A",
    ),
    "rdp_orders": Option(
        "--orders",
        values.ORDER_FROM_ONE,
        "Renyi orders (>= 1, <= 1e6; 1 is the KL divergence)",
        "A",
    ),
    "alpha": Option(
        "--alpha",
        values.PROBABILITY,
        "with --tradeoff: type I errors (false positive rates), 0 < A < 1; default: a selection",
        "A",
    ),
    "order": Option("--order", values.ORDER_FROM_ONE, "Renyi order (>= 1, <= 1e6)", "A"),
}

CONVERSIONS = ("optimal", "balle", "asoodeh", "mironov")
ACCOUNTANTS = ("pld", "rdp")
COMPARISONS = ("rdp", "gdp")
METHODS = ("full_batch", "advanced", "optimal", "moment_bound", "moments", "rdp", "exact")
NAMES = (
    "account",
    "ledger",
    "report",
    "epsilon",
    "delta",
    "curve",
    "compare",
    "noise",
    "steps",
    "rate",
    "rdp",
    "verify",
    "bench",
    "info",
)

# What the options are called elsewhere.
_ALIASES = {
    "--sigma": "--noise-multiplier",
    "--noise": "--noise-multiplier",
    "--q": "--sample-rate",
    "--sampling-rate": "--sample-rate",
    "--sampling-probability": "--sample-rate",
    "--sampling-prob": "--sample-rate",
    "--target-epsilon": "--epsilon",
    "--target-delta": "--delta",
    "--eps": "--epsilon",
    "--alpha": "--order",
    "--alphas": "--orders",
    "--num-steps": "--steps",
    "--iterations": "--steps",
    "--neighbours": "--adjacency",
    "--neighboring-relation": "--adjacency",
    "--trade-off": "--tradeoff",
    "--fpr": "--alpha",
    "--num-compositions": "--steps",
    "--n": "--dataset-size",
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line on stderr and stop with exit code 2."""
        self.exit(2, f"{self.prog}: error: {_readable(message, self)}\n")


def join_negative_values(arguments: Sequence[str]) -> list[str]:
    """Attach a value such as -1e-5 to its option; argparse would take it for an option."""
    joined: list[str] = []
    for argument in arguments:
        numeric = argument[:1] == "-" and argument[1:2] in tuple("0123456789.")
        if numeric and joined and joined[-1].startswith("--") and "=" not in joined[-1]:
            joined[-1] += "=" + argument
        else:
            joined.append(argument)
    return joined


def _readable(message: str, parser: argparse.ArgumentParser) -> str:
    """Rewrite a message of argparse: the option first, then what it permits or what was meant."""
    message = message.removeprefix("argument ")
    flag = message.partition(":")[0]
    if message.endswith("expected one argument"):
        dests = (action.dest for action in parser._actions if flag in action.option_strings)
        permits = [values.permitted(OPTIONS[dest].domain) for dest in dests if dest in OPTIONS]
        return " ".join([f"{flag} needs a value", *(f"({words})" for words in permits)])
    if message.startswith("unrecognized arguments: "):
        unknown = message.removeprefix("unrecognized arguments: ").split()[0].partition("=")[0]
        known = [flag for action in parser._actions for flag in action.option_strings]
        close = difflib.get_close_matches(_ALIASES.get(unknown, unknown), known, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; see {parser.prog} --help"
        kind = "unknown option" if unknown.startswith("-") else "unexpected argument"
        return f"{kind} {unknown}{hint}"
    if message.startswith("COMMAND: invalid choice"):
        tried = message.split("'")[1]
        close = difflib.get_close_matches(tried, NAMES, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; choose from {', '.join(NAMES)}"
        return f"unknown command {tried!r}{hint}"
    for plainer in ("must ", "invalid choice", "not allowed"):
        message = message.replace(f": {plainer}", f" {plainer}", 1)
    return message.replace("with argument", "with").replace(" invalid choice: ", " has no choice ")
