"""The options: numbers, lists and ranges, what each permits, and how messages name them."""

from __future__ import annotations

import argparse
import difflib
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, NoReturn

from renyi._adjacency import ADJACENCIES, LARGEST_COUNT

__all__ = ["HelpFormatter", "add", "usage"]

MAX_VALUES = 1_000_000


class UsageError(Exception):
    """Bad input; the message is one line and names the option."""


class OutputError(Exception):
    """What was computed could not be written; the message is one line."""


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
NOT_NEGATIVE = Domain(">= 0", lambda x: x >= 0)
ORDER = Domain("> 1 and <= 1e6", lambda x: 1 < x <= 10**6)
ORDER_FROM_ONE = Domain(">= 1 and <= 1e6", lambda x: 1 <= x <= 10**6)
COUNT = Domain("from 1 to 1e15", lambda x: 1 <= x <= 10**15, whole=True)
COUNT_FROM_ZERO = Domain("from 0 to 1e15", lambda x: 0 <= x <= 10**15, whole=True)
USES = Domain("from 1 to 1e9", lambda x: 1 <= x <= LARGEST_COUNT, whole=True)

# The engine names arguments; the user typed options.
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
    "orders": "--orders",
    "order": "--order",
    "alpha": "--order",
    "conversion": "--conversion",
    "adjacency": "--adjacency",
}


def as_options(message: str) -> str:
    """Put the option's name where an engine message starts with the argument's name.

    Examples
    --------
    >>> as_options("target_delta must be in (0, 1), got 2")
    '--delta must be in (0, 1), got 2'
    """
    line = " ".join(message.split())
    match = re.match(r"([a-z_]+) must ", line)
    option = _OPTION_OF_ARGUMENT.get(match.group(1)) if match else None
    return line if match is None or option is None else option + _words_typed(line[match.end(1) :])


def _words_typed(line: str) -> str:
    """Write names of neighbours and samplings as they are typed, without quotes."""
    line = re.sub(r"'(add_remove|replace_one|zero_out)'", r"\1", line)
    return re.sub(
        r"with sampling '([a-z_]+)'", lambda m: f"with --sampling {m[1].replace('_', '-')}", line
    )


def number(text: str, domain: Domain) -> Fraction:
    """Return the exact value of a decimal such as ``0.004`` or ``1e-5``."""
    try:
        value = Decimal(text.strip().replace("_", ""))
    except InvalidOperation:
        value = Decimal("nan")
    # The exponent's limit keeps 1e999999999 from filling the memory; doubles end long before.
    if not value.is_finite() or abs(value.adjusted()) > 320:
        raise argparse.ArgumentTypeError(f"must be {permitted(domain)}, got {text!r}")
    exact = Fraction(value)
    fits = domain.contains(exact) and domain.contains(Fraction(_as_float(exact, text, domain)))
    if not fits or (domain.whole and exact.denominator != 1):
        raise argparse.ArgumentTypeError(f"must be {permitted(domain)}, got {text!r}")
    return exact


def numbers(text: str, domain: Domain) -> list[Fraction]:
    """Parse a comma list of numbers and of ``start:stop:step`` ranges, all of them different.

    The stop is included when a step lands on it. Two decimals of one double would be equal rows.

    Examples
    --------
    >>> [float(x) for x in numbers("0.5,1:2:0.5", POSITIVE)]
    [0.5, 1.0, 1.5, 2.0]
    """
    values: list[Fraction] = []
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
        if domain.whole and step.denominator != 1:
            raise argparse.ArgumentTypeError(
                f"the step of a range must be a whole number, got {part!r}"
            )
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
            f"must hold a number once, got {twice!r} twice in {text!r}"
        )
    return values


def numbers_in(domain: Domain) -> Callable[[str], list[Fraction]]:
    """``numbers`` for one domain, as an argparse type."""
    return lambda text: numbers(text, domain)


def number_in(domain: Domain) -> Callable[[str], Fraction]:
    """Make ``number`` for one domain, as an argparse type."""
    return lambda text: number(text, domain)


def permitted(domain: Domain) -> str:
    """Say what an option takes, as it follows "must be"."""
    return f"a {'whole ' if domain.whole else ''}number {domain.words}"


def _as_float(exact: Fraction, text: str, domain: Domain) -> float:
    try:
        return float(exact)
    except OverflowError:
        raise argparse.ArgumentTypeError(f"must be {permitted(domain)}, got {text!r}") from None


# The options, each described once, and a parser whose errors are one helpful line.


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
        POSITIVE,
        "standard deviation of the noise / clipping norm (> 0)",
        "SIGMA",
    ),
    "sample_rate": Option(
        "--sample-rate",
        RATE,
        "probability with which each record enters a step (0 < Q <= 1; 1 means no sampling)",
        "Q",
    ),
    "batch_size": Option(
        "--batch-size",
        COUNT,
        "expected batch size; with --dataset-size instead of --sample-rate",
        "B",
    ),
    "dataset_size": Option(
        "--dataset-size",
        COUNT,
        "number of records; sampling rate = batch size / data set size",
        "N",
    ),
    "steps": Option("--steps", USES, "number of noisy steps (a whole number from 1 to 1e9)", "T"),
    "epochs": Option(
        "--epochs",
        POSITIVE,
        "instead of --steps: steps = ceil(epochs * data set size / batch size); where records are "
        "dealt or shuffled, whole epochs of ceil(data set size / batch size)",
        "E",
    ),
    "epsilon": Option("--epsilon", NOT_NEGATIVE, "the epsilon of (epsilon, delta), >= 0", "EPS"),
    "target_epsilon": Option(
        "--epsilon", POSITIVE, "the epsilon of (epsilon, delta) to meet, > 0", "EPS"
    ),
    "target": Option(
        "--target",
        POSITIVE,
        "with --delta, instead of a noise multiplier: compare the noise that each method needs",
        "EPS",
    ),
    "delta": Option(
        "--delta",
        PROBABILITY,
        "the delta of (epsilon, delta), 0 < delta < 1; well below 1 / number of records",
        "DELTA",
    ),
    "orders": Option(
        "--orders",
        ORDER,
        "with --accountant rdp: Renyi orders (> 1, <= 1e6) to choose from; default: all real",
        "A",
    ),
    "rdp_orders": Option(
        "--orders",
        ORDER_FROM_ONE,
        "Renyi orders (>= 1, <= 1e6; 1 is the KL divergence)",
        "A",
    ),
    "alpha": Option(
        "--alpha",
        PROBABILITY,
        "with --tradeoff: type I errors (false positive rates), 0 < A < 1; default: a selection",
        "A",
    ),
    "order": Option("--order", ORDER_FROM_ONE, "Renyi order (>= 1, <= 1e6)", "A"),
}


POISSON = "poisson"
SCHEMES = (POISSON, "truncated-poisson", "balls-in-bins", "fixed-size", "shuffled")
EXACT = (POISSON, "balls-in-bins")  # but where records are replaced
IN_EPOCHS = ("balls-in-bins", "shuffled")  # every record in one batch of each
DEVIATIONS = 10  # by which the limit of truncated samples exceeds the batch size, by default


CONVERSIONS = ("optimal", "balle", "asoodeh", "mironov")


ACCOUNTANTS = ("pld", "rdp")


COMPARISONS = ("rdp", "gdp")


METHODS = ("full_batch", "advanced", "optimal", "moment_bound", "moments", "rdp", "exact")


# What the options are called elsewhere.
_CLOSE = 0.75  # likeness from which a word is suggested
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
    """Refuse an option that is given twice, of which argparse would keep the last alone."""
    given: set[str] = set()
    for argument in arguments:
        flag = argument.partition("=")[0]
        action = parser._option_string_actions.get(flag)
        if action is None or isinstance(action, argparse._AppendAction):
            continue
        if flag in given:
            listed = "; a list is written 1,2" if action.dest in OPTIONS else ""
            parser.error(f"{flag} is given twice{listed}")
        given.add(flag)


def _readable(message: str, parser: argparse.ArgumentParser) -> str:
    """Rewrite a message of argparse: the option first, then what it permits or what was meant."""
    message = message.removeprefix("argument ")
    flag = message.partition(":")[0]
    if message.endswith("expected one argument"):
        dests = (action.dest for action in parser._actions if flag in action.option_strings)
        permits = [permitted(OPTIONS[dest].domain) for dest in dests if dest in OPTIONS]
        return " ".join([f"{flag} needs a value", *(f"({words})" for words in permits)])
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


# Groups of options that several commands share.


def add_accounting(group: argparse._ArgumentGroup) -> None:
    """Add the choice of the accountant, and what only Renyi-DP takes."""
    group.add_argument(
        "--accountant",
        choices=ACCOUNTANTS,
        default=ACCOUNTANTS[0],
        metavar="NAME",
        help="pld (default): the exact curve, Renyi-DP beside it; rdp: Renyi-DP alone",
    )
    add_numbers(group, ("orders",))
    group.add_argument(
        "--conversion",
        choices=CONVERSIONS,
        metavar="NAME",
        help="with --accountant rdp, from Renyi-DP to (epsilon, delta): optimal (default, the "
        "tightest), balle, asoodeh or mironov",
    )


def add_adjacency(group: argparse._ArgumentGroup) -> None:
    """Add the neighbouring relation."""
    group.add_argument(
        "--adjacency",
        choices=ADJACENCIES,
        default=ADJACENCIES[0],
        metavar="NAME",
        help="neighbouring data sets: add_remove one record (default), replace_one (with sampling "
        "exact curve only, seconds a number), or zero_out, a record that then contributes nothing",
    )


def add_sampling(group: argparse._ArgumentGroup) -> None:
    """Add how batches were drawn."""
    group.add_argument(
        "--sampling",
        choices=SCHEMES,
        default=POISSON,
        metavar="NAME",
        help=f"{POISSON} (default), or with --batch-size and --dataset-size "
        f"{', '.join(SCHEMES[1:-1])} (replaced records) or {SCHEMES[-1]} (no --adjacency "
        "add_remove)",
    )
    group.add_argument(
        "--batch-limit",
        type=lambda text: int(number(text, COUNT)),
        metavar="B",
        help="with --sampling truncated-poisson: the largest batch; default: the batch size and "
        f"{DEVIATIONS} standard deviations",
    )


def add_limit(group: argparse._ArgumentGroup) -> None:
    """Add what epsilon must not exceed."""
    group.add_argument(
        "--max-epsilon",
        type=number_in(NOT_NEGATIVE),
        metavar="EPS",
        help="stop with exit code 3 if any epsilon is above",
    )
    group.add_argument(
        "--certificate", metavar="FILE", help="write a proof of the one epsilon, for renyi check"
    )


def add_report(group: argparse._ArgumentGroup) -> None:
    """Add what a report is about, and where it goes to."""
    group.add_argument("--mechanism", metavar="FILE", help="JSON of a mechanism, instead of a run")
    group.add_argument(
        "--count", type=one(USES), default=1, metavar="N", help="uses of it (default 1)"
    )
    group.add_argument("--ledger", metavar="FILE", help="with --dataset: what was recorded of it")
    group.add_argument("--dataset", metavar="NAME", help="the data set, in the ledger or to name")
    group.add_argument(
        "--query", action="append", metavar="NAME", help="what was asked; repeatable"
    )
    group.add_argument("--author", metavar="NAME", help="who answers for the statement")
    group.add_argument("--date", metavar="DATE", help="of the statement (default: none)")
    group.add_argument("--title", metavar="TEXT", help="default: Privacy statement")
    group.add_argument("--html", metavar="FILE", help="write one page that needs no network")
    group.add_argument("--markdown", metavar="FILE", help="write Markdown (default: print it)")


def add_figure(group: argparse._ArgumentGroup) -> None:
    """Add what ``renyi curve`` draws, and where to."""
    group.add_argument("--tradeoff", action="store_true", help="type II error against type I error")
    group.add_argument(
        "--points",
        type=one(Domain("from 2 to 100000", lambda x: 2 <= x <= 100_000, whole=True)),
        metavar="N",
        help="number of points, evenly spaced; default: round numbers, 201 in a figure",
    )
    group.add_argument(
        "--compare",
        type=_names(COMPARISONS),
        default=(),
        metavar="NAMES",
        help="rdp, gdp or both (rdp,gdp): Renyi-DP, and Gaussian DP by the central limit theorem",
    )
    add_plot(group)


def add_plot(group: argparse._ArgumentGroup) -> None:
    """Add where a figure goes to."""
    group.add_argument(
        "--plot", metavar="FILE", help="write a figure: FILE.png, FILE.svg or FILE.pdf"
    )
    group.add_argument("--show", action="store_true", help="open the figure in a window")


def add_methods(group: argparse._ArgumentGroup) -> None:
    """Add which methods ``renyi compare`` takes, and its figure."""
    group.add_argument(
        "--methods",
        type=_names(METHODS),
        default=(),
        metavar="NAMES",
        help=f"some of {','.join(METHODS)} (default: all)",
    )
    group.add_argument(
        "--samplings",
        action="store_const",
        dest="run",
        const="compare.compare_samplings",
        default=argparse.SUPPRESS,
        help="instead of methods: every way to draw batches of --batch-size from --dataset-size",
    )
    add_plot(group)


def add_numbers(group: argparse._ArgumentGroup, names: Sequence[str]) -> None:
    """Add the options of these names, which take lists of numbers."""
    for name in names:
        option = OPTIONS[name]
        group.add_argument(
            option.flag,
            type=numbers_in(option.domain),
            metavar=option.metavar,
            help=option.help,
            dest=name,
        )


def add_digits(group: argparse._ArgumentGroup) -> None:
    """Add how many digits are printed."""
    group.add_argument(
        "--digits",
        type=one(Domain("from 1 to 17", lambda x: 1 <= x <= 17, whole=True)),
        default=4,
        metavar="D",
        help="significant digits to print, 1 to 17 (default 4)",
    )


def add_formats(group: argparse._ActionsContainer) -> None:
    """Add the machine-readable forms, of which one may be chosen."""
    forms = group.add_mutually_exclusive_group()
    forms.add_argument(
        "--json", action="store_true", help="full doubles, bounds and assumptions as JSON"
    )
    forms.add_argument(
        "--csv", action="store_true", help="full doubles, bounds and assumptions as CSV"
    )


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


def one(domain: Domain) -> Callable[[str], int]:
    """Make an argparse type of a single whole number."""
    return lambda text: int(number(text, domain))


# How a command is added to the parser.


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help of up to 100 columns with the texts close to the options."""

    def __init__(self, prog: str) -> None:
        width = min(100, shutil.get_terminal_size((100, 24)).columns)
        super().__init__(prog, max_help_position=28, width=width)


def usage(name: str, *lines: str) -> str:
    """Return the line of usage of a command."""
    first = f"renyi {name} "
    return first + ("\n" + " " * len("usage: " + first)).join(lines)


def add(
    commands: argparse._SubParsersAction[Parser],
    name: str,
    run: str,
    short: str,
    description: str,
    examples: str,
    usage_line: str,
) -> Parser:
    """Add a command and return its parser; ``run`` names its function, loaded when it runs."""
    command = commands.add_parser(
        name,
        help=short,
        description=description,
        epilog=f"example:\n{examples}",
        usage=usage_line,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    command.prog = f"renyi {name}"
    command.set_defaults(run=run, parser=command)
    return command


STRATEGIES = ("banded", "blt", "tree", "root")
_CORRELATED = "correlated noise, with --batch-size and --dataset-size"


def add_strategies(parser: argparse.ArgumentParser) -> None:
    """Add the choice to compare strategies of correlated noise."""
    parser.add_argument_group(_CORRELATED).add_argument(
        "--strategies",
        action="store_const",
        dest="run",
        const="correlated.compare",
        default=argparse.SUPPRESS,
        help="with --target and --delta: error of prefix sums by strategy of correlated noise",
    )


def add_strategy(parser: argparse.ArgumentParser) -> None:
    """Add the options of correlated noise."""
    group = parser.add_argument_group(_CORRELATED)
    group.add_argument(
        "--strategy", action=_Correlated, choices=STRATEGIES, help="the matrix of the noise"
    )
    group.add_argument("--bands", type=int, metavar="B", help="of banded; default: the best")
    group.add_argument("--buffers", type=int, metavar="M", default=4, help="of blt; default: 4")
    group.add_argument(
        "--fixed-order",
        action="store_true",
        help="of banded: batches in fixed order, as for the others, not cyclic Poisson samples",
    )


class _Correlated(argparse.Action):
    """``--strategy``, which makes the command one of correlated noise."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        namespace.strategy, namespace.run = values, "correlated.noise"
