"""How a command is added to the parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from renyi.cli.options import Parser

__all__ = ["HelpFormatter", "add", "usage"]


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help of up to 100 columns with the texts close to the options."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


def usage(name: str, *lines: str) -> str:
    """Return the line of usage of a command."""
    first = f"renyi {name} "
    return first + ("\n" + " " * len("usage: " + first)).join(lines)


def add(
    commands: argparse._SubParsersAction[Parser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    short: str,
    description: str,
    examples: str,
    usage_line: str,
) -> Parser:
    """Add a command and return its parser."""
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
