"""The options of ``renyi ledger``."""

from __future__ import annotations

import argparse
from typing import Any

from renyi.cli import values
from renyi.cli.groups import add_adjacency, one
from renyi.cli.options import Parser
from renyi.cli.values import Domain, number_in

SHARE = Domain("from 0 to 1", lambda x: 0 <= x <= 1)

ACTIONS = {
    "create": "add a data set with a budget; makes the file if there is none",
    "charge": "record uses of a mechanism before they are run, or refuse them",
    "reserve": "set uses aside for a long run; they count as spent until settled",
    "settle": "say how many uses of a reservation there were",
    "status": "what is left of each budget",
    "history": "all that was recorded of a data set",
    "verify": "check hashes and balances; exit code 1 if anything is wrong",
    "export": "print all histories as lines of JSON",
    "import": "add the data sets of such lines",
    "check": "exit code 3 if uses would not fit, or too little is left",
}

EXAMPLE = """example:
  renyi ledger create privacy.db census --epsilon 1 --delta 1e-6
  python -c 'import renyi; print(renyi.Gaussian(20.0).to_json())' > ages.json
  renyi ledger charge privacy.db census ages.json --count 3 --note ages
  renyi ledger status privacy.db"""


def add_ledger(command: Parser, formatter: type[argparse.HelpFormatter]) -> None:
    """Add an option parser for each thing that is done with a ledger."""
    actions = command.add_subparsers(dest="action", metavar="ACTION", title="actions")
    actions.required = True
    parsers = {}
    for name, words in ACTIONS.items():
        parsers[name] = parser = actions.add_parser(
            name, help=words, description=words, formatter_class=formatter, allow_abbrev=False
        )
        parser.prog = f"renyi ledger {name}"
        parser.add_argument("path", metavar="LEDGER", help="the file")
        parser.set_defaults(parser=parser, dataset=None)
        if name != "export":
            parser.add_argument("--json", action="store_true", help="print as JSON")
    for name in "create", "charge", "reserve", "settle", "history", "check":
        parsers[name].add_argument("dataset", metavar="DATASET", help="name of the data set")
    parsers["status"].add_argument("dataset", metavar="DATASET", nargs="?", help="default: all")
    _add_budget(parsers["create"])
    for name in "charge", "reserve", "check":
        many: dict[str, Any] = {"nargs": "?"} if name == "check" else {}
        parsers[name].add_argument(
            "mechanism", metavar="MECHANISM", help="file of JSON, or - for stdin", **many
        )
        parsers[name].add_argument(
            "--count", type=one(values.USES), default=1, metavar="N", help="uses (default 1)"
        )
    parsers["settle"].add_argument("reservation", type=one(values.COUNT), metavar="NUMBER")
    parsers["settle"].add_argument("used", type=one(values.COUNT_FROM_ZERO), metavar="USED")
    for name in "create", "charge", "reserve", "settle":
        parsers[name].add_argument("--note", default="", metavar="TEXT", help="for the history")
    parsers["verify"].add_argument(
        "--head", action="append", metavar="HASH", help="of an earlier status: must be found"
    )
    parsers["import"].add_argument("file", metavar="FILE", help="lines of JSON, or - for stdin")
    parsers["check"].add_argument(
        "--min-remaining",
        type=number_in(SHARE),
        default=0,
        metavar="SHARE",
        help="least share of the budget that must be left (default 0)",
    )


def _add_budget(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("budget, --epsilon with --delta or --rho")
    group.add_argument("--epsilon", type=number_in(values.POSITIVE), metavar="EPS")
    group.add_argument("--delta", type=number_in(values.PROBABILITY), metavar="DELTA")
    group.add_argument("--rho", type=number_in(values.POSITIVE), metavar="RHO")
    group.add_argument(
        "--accountant",
        choices=("renyi", "gdp", "zcdp"),
        metavar="NAME",
        help="the filter: renyi (default), gdp (Gaussian noise without loss), zcdp (with --rho)",
    )
    add_adjacency(group)
