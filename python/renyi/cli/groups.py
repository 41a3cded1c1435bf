"""Groups of options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from renyi._adjacency import ADJACENCIES
from renyi.cli import values
from renyi.cli.options import ACCOUNTANTS, COMPARISONS, CONVERSIONS, METHODS, OPTIONS
from renyi.cli.values import Domain


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


def add_limit(group: argparse._ArgumentGroup) -> None:
    """Add what epsilon must not exceed."""
    group.add_argument(
        "--max-epsilon",
        type=values.number_in(values.NOT_NEGATIVE),
        metavar="EPS",
        help="stop with exit code 3 if any epsilon is above",
    )


def add_report(group: argparse._ArgumentGroup) -> None:
    """Add what a report is about, and where it goes to."""
    group.add_argument("--mechanism", metavar="FILE", help="JSON of a mechanism, instead of a run")
    group.add_argument(
        "--count", type=one(values.USES), default=1, metavar="N", help="uses of it (default 1)"
    )
    group.add_argument("--ledger", metavar="FILE", help="with --dataset: what was recorded of it")
    group.add_argument("--dataset", metavar="NAME")
    group.add_argument(
        "--shuffled", action="store_true", help="the batches were shuffled: warn if that matters"
    )
    group.add_argument("--title", default="Privacy statement", metavar="TEXT")
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
    group.add_argument("--plot", metavar="FILE", help="write a figure: FILE.png or FILE.svg")
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
    add_plot(group)


def add_numbers(group: argparse._ArgumentGroup, names: Sequence[str]) -> None:
    """Add the options of these names, which take lists of numbers."""
    for name in names:
        option = OPTIONS[name]
        group.add_argument(
            option.flag,
            type=values.numbers_in(option.domain),
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
        return names

    return parse_names


def one(domain: Domain) -> Callable[[str], int]:
    """Make an argparse type of a single whole number."""
    return lambda text: int(values.number(text, domain))
