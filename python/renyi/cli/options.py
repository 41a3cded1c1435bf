"""The options: parsing of numbers, lists and ranges, domains, and names in messages."""

import argparse
import difflib
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from typing import Any, NoReturn

from renyi._adjacency import ADJACENCIES, CONVERSIONS, LARGEST_COUNT
from renyi._validation import shortest

MAX_VALUES = 1_000_000


class UsageError(Exception):
    """Bad input; the message is one line and names the option."""


class OutputError(Exception):
    """The output could not be written; the message is one line."""


@dataclass(frozen=True)
class Domain:
    """The values an option takes, in words and as a test."""

    words: str
    contains: Callable[[Fraction], bool]
    whole: bool = False


PROBABILITY = Domain("strictly between 0 and 1", lambda x: 0 < x < 1)
PROBABILITY_OR_NONE = Domain(">= 0 and < 1", lambda x: 0 <= x < 1)
RATE = Domain("> 0 and <= 1", lambda x: 0 < x <= 1)
POSITIVE = Domain("> 0", lambda x: x > 0)
LOCAL = Domain("> 0 and <= 30", lambda x: 0 < x <= 30)
NOT_NEGATIVE = Domain(">= 0", lambda x: x >= 0)
ORDER = Domain("> 1 and <= 1e6", lambda x: 1 < x <= 10**6)
ORDER_FROM_ONE = Domain(">= 1 and <= 1e6", lambda x: 1 <= x <= 10**6)
COUNT = Domain("from 1 to 1e15", lambda x: 1 <= x <= 10**15, whole=True)
COUNT_FROM_ZERO = Domain("from 0 to 1e15", lambda x: 0 <= x <= 10**15, whole=True)
USES = Domain("from 1 to 1e9", lambda x: 1 <= x <= LARGEST_COUNT, whole=True)


def between(low: int, high: int) -> Domain:
    """Return the domain of the whole numbers between two ends."""
    return Domain(f"from {low} to {high}", lambda x: low <= x <= high, whole=True)


# The arguments of the engine, by the options that a user typed.
_OPTION_OF_ARGUMENT = {
    "target_epsilon": "--epsilon",
    "target_delta": "--delta",
    "epsilon": "--epsilon",
    "delta": "--delta",
    "noise_multiplier": "--noise-multiplier",
    "sigma": "--noise-multiplier",
    "sample_rate": "--sample-rate",
    "q": "--sample-rate",
    "steps": "--steps",
    "count": "--steps",
    "bands": "--bands",
    "buffers": "--buffers",
    "orders": "--orders",
    "order": "--order",
    "alpha": "--order",
    "conversion": "--conversion",
    "adjacency": "--adjacency",
}


def as_options(message: str) -> str:
    """Put the option's name where an engine message starts with the argument's name.

    >>> as_options("target_delta must be in (0, 1), got 2")
    '--delta must be in (0, 1), got 2'
    """
    line = " ".join(message.split())
    match = re.match(r"([a-z_]+) must ", line)
    option = _OPTION_OF_ARGUMENT.get(match.group(1)) if match else None
    return line if match is None or option is None else option + _words_typed(line[match.end(1) :])


def _words_typed(line: str) -> str:
    """Write names of neighbours and samplings as a user types them, without quotes."""
    line = re.sub(r"'(add_remove|replace_one|zero_out)'", r"\1", line)
    return re.sub(
        r"with sampling '([a-z_]+)'", lambda m: f"with --sampling {m[1].replace('_', '-')}", line
    )


def number(text: str, domain: Domain) -> Fraction | int:
    """Return the exact value of a decimal such as ``0.004`` or ``1e-5``; an int if whole."""
    try:
        value = Decimal(text.strip().replace("_", ""))
    except InvalidOperation:
        value = Decimal("nan")
    # The exponent's limit keeps 1e999999999 from filling the memory; doubles end long before.
    if value.is_finite() and abs(value.adjusted()) <= 320 and math.isfinite(float(value)):
        exact = Fraction(value)
        fits = domain.contains(exact) and domain.contains(Fraction(float(value)))
        if fits and (exact.denominator == 1 or not domain.whole):
            return int(exact) if domain.whole else exact
    raise argparse.ArgumentTypeError(f"must be {permitted(domain)}, got {text!r}")


def numbers(text: str, domain: Domain) -> list[Fraction | int]:
    """Parse a comma list of numbers and of ``start:stop:step`` ranges, all of them different.

    The stop is included when a step lands on it. Two decimals of one double would be equal rows.

    >>> [float(x) for x in numbers("0.5,1:2:0.5", POSITIVE)]
    [0.5, 1.0, 1.5, 2.0]
    """
    values: list[Fraction | int] = []
    for part in text.split(","):
        ends = part.split(":")
        if len(ends) == 1:
            values.append(number(part, domain))
            continue
        if len(ends) != 3:
            raise argparse.ArgumentTypeError(f"a range is written start:stop:step, got {part!r}")
        start, stop = number(ends[0], domain), number(ends[1], domain)
        try:
            step = number(ends[2], POSITIVE)
        except argparse.ArgumentTypeError:
            raise argparse.ArgumentTypeError(
                f"the step of a range must be {permitted(POSITIVE)}, got {part!r}"
            ) from None
        if domain.whole:
            if step.denominator != 1:
                raise argparse.ArgumentTypeError(
                    f"the step of a range must be a whole number, got {part!r}"
                )
            step = int(step)
        if stop < start:
            raise argparse.ArgumentTypeError(f"a range must not end before it starts, got {part!r}")
        count = (stop - start) // step + 1
        if len(values) + count > MAX_VALUES:
            raise argparse.ArgumentTypeError(
                f"must give at most {MAX_VALUES:,} values, got {part!r}"
            )
        values.extend(start + k * step for k in range(count))
    doubles = Counter(map(float, values))
    if len(doubles) < len(values):
        (twice, _), *_ = doubles.most_common(1)
        raise argparse.ArgumentTypeError(
            f"must hold a number once, got {shortest(twice)} twice in {text!r}"
        )
    return values


def permitted(domain: Domain) -> str:
    """Return the domain of an option in words that follow "must be"."""
    return f"a {'whole ' if domain.whole else ''}number {domain.words}"


POISSON = "poisson"
SCHEMES = (POISSON, "truncated-poisson", "balls-in-bins", "fixed-size", "shuffled")
EXACT = (POISSON, "balls-in-bins")  # exact except for replaced records
IN_EPOCHS = ("balls-in-bins", "shuffled")  # every record is in one batch of an epoch
DEVIATIONS = 10  # the default limit of truncated samples exceeds the batch size by these
ACCOUNTANTS = ("pld", "rdp")
RANDOMIZERS = (
    "any",
    "randomized-response",
    "hadamard",
    "rappor",
    "oue",
    "olh",
    "subset",
    "laplace",
)
COMPARISONS = ("rdp", "gdp")
METHODS = ("full_batch", "advanced", "optimal", "moment_bound", "moments", "rdp", "exact")
STRATEGIES = ("banded", "inverse", "blt", "tree", "root")


class Option:
    """An option, or an argument without a flag, as argparse takes it.

    ``usage`` is its flag and the placeholder of its value. It takes a list of numbers of the domain
    ``many``, or a number of the domain ``one``.
    """

    def __init__(
        self,
        usage: str,
        help: str | None = None,
        many: Domain | None = None,
        one: Domain | None = None,
        **settings: Any,
    ) -> None:
        self.flag, _, metavar = usage.partition(" ")
        self.settings = {"help": help, **({"metavar": metavar} if metavar else {}), **settings}
        if domain := many or one:
            self.settings["type"] = partial(numbers if many else number, domain=domain)


def _names(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    def parse_names(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        if not set(names) <= set(known):
            raise argparse.ArgumentTypeError(
                f"must be a list of {', '.join(known)}, separated by commas, got {text!r}"
            )
        if len(set(names)) < len(names):
            raise argparse.ArgumentTypeError(f"must hold a name once, got {text!r}")
        return names

    return parse_names


def _switch(run: str) -> dict[str, Any]:
    """Return the settings of a flag that makes the command another function."""
    return {"action": "store_const", "dest": "run", "const": run, "default": argparse.SUPPRESS}


_FLAG: dict[str, Any] = {"action": "store_true"}
OPTIONS = {
    # A run.
    "noise_multiplier": Option(
        "--noise-multiplier SIGMA",
        "standard deviation of the noise / clipping norm (> 0)",
        POSITIVE,
    ),
    "sample_rate": Option(
        "--sample-rate Q",
        "probability with which each record enters a step (0 < Q <= 1; 1 means no sampling)",
        RATE,
    ),
    "batch_size": Option(
        "--batch-size B", "expected batch size; with --dataset-size instead of --sample-rate", COUNT
    ),
    "dataset_size": Option(
        "--dataset-size N", "number of records; sampling rate = batch size / data set size", COUNT
    ),
    "steps": Option("--steps T", "number of noisy steps (a whole number from 1 to 1e9)", USES),
    "epochs": Option(
        "--epochs E",
        "instead of --steps: steps = ceil(epochs * data set size / batch size); where records are "
        "dealt or shuffled, whole epochs of ceil(data set size / batch size)",
        POSITIVE,
    ),
    "sampling": Option(
        "--sampling NAME",
        f"{POISSON} (default), or with --batch-size and --dataset-size "
        f"{', '.join(SCHEMES[1:-1])} (needs --adjacency replace_one) or {SCHEMES[-1]} (needs "
        "--adjacency replace_one or zero_out)",
        choices=SCHEMES,
        default=POISSON,
    ),
    "batch_limit": Option(
        "--batch-limit B",
        "with --sampling truncated-poisson: the largest batch; default: the batch size and "
        f"{DEVIATIONS} standard deviations",
        one=COUNT,
    ),
    # A guarantee.
    "tuning_runs": Option(
        "--tuning-runs K",
        "the cost of tuning, too: this many runs of the given length on average, stopped after "
        "each one with probability 1/K, and only the best one is released",
        one=between(2, 10**9),
    ),
    "epsilon": Option("--epsilon EPS", "the epsilon of (epsilon, delta), >= 0", NOT_NEGATIVE),
    "target_epsilon": Option(
        "--epsilon EPS", "the epsilon of (epsilon, delta) to meet, > 0", POSITIVE
    ),
    "target": Option(
        "--target EPS",
        "with --delta, instead of a noise multiplier: compare the noise that each method needs",
        POSITIVE,
    ),
    "delta": Option(
        "--delta DELTA",
        "the delta of (epsilon, delta), 0 < delta < 1; well below 1 / number of records",
        PROBABILITY,
    ),
    "delta_from_zero": Option(
        "--delta DELTA",
        "the delta of (epsilon, delta), 0 <= delta < 1; 0: a pure guarantee, of losses that "
        "have a bound",
        PROBABILITY_OR_NONE,
        dest="delta",
    ),
    # Shuffled reports.
    "one_epsilon": Option(
        "--epsilon EPS", "the epsilon of (epsilon, delta), >= 0", one=NOT_NEGATIVE, dest="epsilon"
    ),
    "one_delta": Option(
        "--delta DELTA",
        "the delta of (epsilon, delta), 0 < delta < 1; well below 1 / number of records",
        one=PROBABILITY,
        dest="delta",
    ),
    "local_epsilon": Option(
        "--local-epsilon EPS0",
        "epsilon of every report by itself, > 0, <= 30",
        one=LOCAL,
    ),
    "users": Option("--users N", "number of reports, 1 to 1e9", one=between(1, LARGEST_COUNT)),
    "randomizer": Option(
        "--randomizer NAME",
        "what every user runs: any (default), of the local epsilon; randomized-response, hadamard, "
        "rappor, oue, olh or subset, with --choices; laplace, on numbers of [0, 1]",
        choices=RANDOMIZERS,
        default="any",
    ),
    "choices": Option(
        "--choices K", "number of values that a user may hold", one=between(2, LARGEST_COUNT)
    ),
    "rounds": Option(
        "--rounds T",
        "rounds of reports (default 1)",
        one=between(1, LARGEST_COUNT),
        default=1,
    ),
    "max_epsilon": Option(
        "--max-epsilon EPS",
        "stop with exit code 3 if any epsilon is above",
        one=NOT_NEGATIVE,
    ),
    "certificate": Option(
        "--certificate FILE", "write a proof of the one epsilon, for renyi check"
    ),
    # The method.
    "accountant": Option(
        "--accountant NAME",
        "pld (default): the exact curve, Renyi-DP beside it; rdp: Renyi-DP alone",
        choices=ACCOUNTANTS,
        default=ACCOUNTANTS[0],
    ),
    "orders": Option(
        "--orders A",
        "with --accountant rdp: Renyi orders (> 1, <= 1e6) to choose from; default: all real",
        ORDER,
    ),
    "conversion": Option(
        "--conversion NAME",
        "with --accountant rdp, from Renyi-DP to (epsilon, delta): optimal (default, the "
        "tightest), balle, asoodeh or mironov",
        choices=CONVERSIONS,
    ),
    "rdp_orders": Option(
        "--orders A", "Renyi orders (>= 1, <= 1e6; 1 is the KL divergence)", ORDER_FROM_ONE
    ),
    "order": Option("--order A", "Renyi order (>= 1, <= 1e6)", ORDER_FROM_ONE),
    "adjacency": Option(
        "--adjacency NAME",
        "neighbouring data sets differ by one record that is: add_remove, there or not (default); "
        "replace_one, another one (with sampling: the exact curve alone, which takes seconds); "
        "zero_out, replaced by nothing",
        choices=ADJACENCIES,
        default=ADJACENCIES[0],
    ),
    # Tables and figures.
    "digits": Option(
        "--digits D",
        "significant digits to print, 1 to 17 (default 4)",
        one=between(1, 17),
        default=4,
    ),
    "json": Option("--json", "print as JSON", **_FLAG),
    "plot": Option("--plot FILE", "write a figure: FILE.png, FILE.svg or FILE.pdf"),
    "show": Option("--show", "open the figure in a window", **_FLAG),
    "tradeoff": Option("--tradeoff", "type II error against type I error", **_FLAG),
    "alpha": Option(
        "--alpha A",
        "with --tradeoff: type I errors (false positive rates), 0 < A < 1; default: a selection",
        PROBABILITY,
    ),
    "points": Option(
        "--points N",
        "number of points, evenly spaced; default: round numbers, 201 in a figure",
        one=between(2, 100_000),
    ),
    "compare": Option(
        "--compare NAMES",
        "rdp, gdp or both (rdp,gdp): Renyi-DP, and Gaussian DP by the central limit theorem",
        type=_names(COMPARISONS),
        default=(),
    ),
    "methods": Option(
        "--methods NAMES",
        f"some of {','.join(METHODS)} (default: all)",
        type=_names(METHODS),
        default=(),
    ),
    "samplings": Option(
        "--samplings",
        "instead of methods: every way to draw batches of --batch-size from --dataset-size",
        **_switch("compare.compare_samplings"),
    ),
    # Correlated noise.
    "strategies": Option(
        "--strategies",
        "with --target and --delta: error of prefix sums by strategy of correlated noise",
        **_switch("compare.compare_strategies"),
    ),
    "strategy": Option("--strategy", "the matrix of the noise", choices=STRATEGIES),
    "bands": Option("--bands B", "of banded or inverse; default: the best, or 16", one=USES),
    "buffers": Option("--buffers M", "of blt; default: 4", one=USES),
    "fixed_order": Option(
        "--fixed-order",
        "of banded: batches in fixed order, as for the others, not cyclic Poisson samples",
        **_FLAG,
    ),
    # Files, reports and audits.
    "mechanism_file": Option("file FILE", "JSON of a mechanism, or - for stdin"),
    "certificates": Option("files FILE", "certificates, and reports on them", nargs="+"),
    "proof": Option("--certificate FILE", "a proof of what it costs: its hash is kept"),
    "scores": Option("file FILE", "CSV, JSON or NPY, or - for stdin"),
    "canaries": Option("--canaries FILE", "id and included of each canary, to join with FILE"),
    "reported": Option(
        "--reported EPS", "epsilon at DELTA that was reported, instead of a run", NOT_NEGATIVE
    ),
    "mechanism": Option("--mechanism FILE", "JSON of a mechanism, instead of a run"),
    "count": Option("--count N", "uses of it (default 1)", one=USES),
    "ledger": Option("--ledger LEDGER", "with --dataset: what was recorded of it"),
    "dataset": Option("--dataset NAME", "the data set, in the ledger or to name"),
    "query": Option("--query NAME", "what was asked; repeatable", action="append"),
    "author": Option("--author NAME", "who answers for the statement"),
    "date": Option("--date DATE", "of the statement (default: none)"),
    "title": Option("--title TEXT", "default: Privacy statement"),
    "html": Option("--html FILE", "write one page that needs no network"),
    "format": Option(
        "--format",
        "what is printed (default: markdown), without --html and --markdown",
        choices=("markdown", "html", "json", "registry", "yaml"),
    ),
    "disclosure": Option("--disclosure FILE", "what only the publisher knows, as JSON"),
    "markdown": Option("--markdown FILE", "write Markdown (default: print it)"),
    "one_run": Option("--one-run", "scores of the canaries of one run", **_FLAG),
    "sequential": Option(
        "--sequential", "runs, in the order of FILE, may have stopped at any time", **_FLAG
    ),
    "sides": Option(
        "--sides SIDES",
        "with --one-run: guess about high and low scores (both, default), or high ones only (in)",
        choices=("both", "in"),
        default="both",
    ),
    "confidence": Option(
        "--confidence C",
        "of the bound, 0 < C < 1 (default 0.95)",
        one=PROBABILITY,
        default=0.95,
    ),
    # The check of the engine.
    "random": Option(
        "--random N",
        "N random points: Q in [1e-12, 1], SIGMA in [0.01, 1e6], A - 1 in [1e-8, 1e6]",
        one=between(1, 1_000_000),
    ),
    "seed": Option("--seed S", "seed of --random (default 0)", one=COUNT_FROM_ZERO),
    "reference_digits": Option(
        "--reference-digits D",
        "digits of the reference, 30 to 1000 (default 50)",
        one=between(30, 1000),
        default=50,
    ),
    "shell": Option("shell SHELL", None, choices=("bash", "zsh", "fish")),
    # Ledgers.
    "path": Option("path LEDGER", "the file, or postgresql://HOST/DATABASE"),
    "read_only": Option("--read-only", "without permission to write the file", **_FLAG),
    "data_set": Option("dataset DATASET", "name of the data set"),
    "any_data_set": Option("dataset DATASET", "default: all", nargs="?"),
    "charged": Option("mechanism MECHANISM", "file of JSON, or - for stdin"),
    "asked": Option("mechanism MECHANISM", "file of JSON, or - for stdin", nargs="?"),
    "uses": Option("--count N", "uses (default 1)", one=USES, default=1, dest="count"),
    "asked_uses": Option("--count N", "uses (default 1)", one=USES, dest="count"),
    "reservation": Option("reservation NUMBER", None, one=COUNT),
    "used": Option("used USED", None, one=COUNT_FROM_ZERO),
    "note": Option("--note TEXT", "for the history", default=""),
    "head": Option("--head HASH", "of an earlier status: must be found", action="append"),
    "backup": Option("target FILE", "a new file"),
    "lines": Option("file FILE", "lines of JSON, or - for stdin"),
    "min_remaining": Option(
        "--min-remaining SHARE",
        "least share of the budget that must be left (default 0)",
        one=Domain("from 0 to 1", lambda x: 0 <= x <= 1),
        default=0,
    ),
    "budget_epsilon": Option("--epsilon EPS", None, one=POSITIVE, dest="epsilon"),
    "budget_delta": Option("--delta DELTA", None, one=PROBABILITY_OR_NONE, dest="delta"),
    "rho": Option("--rho RHO", None, one=POSITIVE),
    "filter": Option(
        "--accountant NAME",
        "the filter: renyi (default), gdp (Gaussian noise without loss), zcdp (with --rho)",
        choices=("renyi", "gdp", "zcdp"),
        dest="accountant",
    ),
}
"""Every option and argument of the commands, by the name under which a command lists it."""


def add_options(group: argparse._ActionsContainer, *names: str) -> None:
    """Add the options of these names; "formats" adds the machine-readable forms, one at most."""
    for name in names:
        if name == "formats":
            forms = group.add_mutually_exclusive_group()
            for form in ("json", "csv"):
                words = f"full doubles, bounds and assumptions as {form.upper()}"
                forms.add_argument(f"--{form}", action="store_true", help=words)
            continue
        option = OPTIONS[name]
        dest = {"dest": name} if option.flag.startswith("-") else {}
        group.add_argument(option.flag, **{**dest, **option.settings})


def permitted_values(parser: argparse.ArgumentParser, name: str) -> str | None:
    """Return the domain of an option of a command that takes numbers, in words; else None."""
    types = [
        action.type for action in parser._actions if name in (action.dest, *action.option_strings)
    ]
    domains = [kind.keywords["domain"] for kind in types if isinstance(kind, partial)]
    return permitted(domains[0]) if domains else None


# Names of the options in other tools.
_CLOSE = 0.75  # least similarity of a suggested word
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


def refuse_repeated(arguments: Sequence[str], parser: argparse.ArgumentParser) -> None:
    """Refuse an option that is given twice; argparse would keep only the last one."""
    given: set[str] = set()
    for argument in arguments:
        flag = argument.partition("=")[0]
        action = parser._option_string_actions.get(flag)
        if action is None or isinstance(action, argparse._AppendAction):
            continue
        if flag in given:
            kind = action.type
            many = isinstance(kind, partial) and kind.func is numbers
            listed = "; a list is written 1,2" if many else ""
            parser.error(f"{flag} is given twice{listed}")
        given.add(flag)


def _readable(message: str, parser: argparse.ArgumentParser) -> str:
    """Rewrite a message of argparse: the option first, then its domain or a suggestion."""
    message = message.removeprefix("argument ")
    flag = message.partition(":")[0]
    if message.endswith("expected one argument"):
        words = permitted_values(parser, flag)
        return f"{flag} needs a value" + (f" ({words})" if words else "")
    if message.startswith("unrecognized arguments: "):
        unknown = message.removeprefix("unrecognized arguments: ").split()[0].partition("=")[0]
        known = [flag for action in parser._actions for flag in action.option_strings]
        close = difflib.get_close_matches(_ALIASES.get(unknown, unknown), known, 1, _CLOSE)
        hint = f"; did you mean {close[0]}?" if close else f"; see {parser.prog} --help"
        kind = "unknown option" if unknown.startswith("-") else "unexpected argument"
        return f"{kind} {unknown}{hint}"
    if message.startswith(("COMMAND: invalid choice", "ACTION: invalid choice")):
        tried = message.split("'")[1]
        (names,) = (a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
        close = difflib.get_close_matches(tried, names, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; choose from {', '.join(names)}"
        return f"unknown {flag.lower()} {tried!r}{hint}"
    for plainer in ("must ", "invalid choice", "not allowed"):
        message = message.replace(f": {plainer}", f" {plainer}", 1)
    return message.replace("with argument", "with").replace(" invalid choice: ", " has no choice ")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help of up to 100 columns with the texts close to the options."""

    def __init__(self, prog: str) -> None:
        width = min(100, shutil.get_terminal_size((100, 24)).columns)
        super().__init__(prog, max_help_position=28, width=width)


def usage(name: str, *lines: str) -> str:
    """Return the line of usage of a command."""
    first = f"renyi {name} "
    return first + ("\n" + " " * len("usage: " + first)).join(lines)
