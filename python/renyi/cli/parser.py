"""From arguments to options: the parser of the whole command."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence

from renyi._adjacency import ADJACENCIES
from renyi.cli import account, audit, check, values, verification
from renyi.cli.commands import COMMANDS, RUN, SWEEP_NOTE
from renyi.cli.groups import (
    add_accounting,
    add_adjacency,
    add_digits,
    add_figure,
    add_formats,
    add_methods,
    add_numbers,
    one,
)
from renyi.cli.options import Parser, join_negative_values
from renyi.cli.values import Domain, UsageError


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; ``run`` is the chosen command's function and ``parser`` its parser."""
    options, unknown = build_parser().parse_known_args(join_negative_values(arguments))
    if unknown:  # reported by the command, which knows what may have been meant
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    rows = math.prod(len(value) for value in vars(options).values() if isinstance(value, list))
    if rows > values.MAX_VALUES:
        raise UsageError(
            f"lists and ranges must give at most {values.MAX_VALUES:,} rows, got {rows:,}"
        )
    return options


def build_parser() -> Parser:
    """Return the parser of the whole command."""
    parser = Parser(
        prog="renyi",
        description="Differential privacy guarantees of noisy, Poisson-sampled training (DP-SGD).\n"
        "A printed guarantee is never better than the truth: epsilon and delta are rounded up.",
        epilog=f"start here:\n  renyi epsilon {RUN} --delta 1e-5\n\n"
        "renyi COMMAND --help explains a command, with an example.",
        formatter_class=_HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, help="print the version and stop")
    parser.set_defaults(run=None, parser=parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for spec in COMMANDS:
        command = _add(
            commands,
            spec.name,
            spec.run,
            spec.short,
            f"{spec.description}\n\n{SWEEP_NOTE}",
            spec.examples,
            _usage(spec.name, *spec.usage, "[option ...]"),
        )
        add_numbers(command.add_argument_group("numbers"), spec.numbers)
        method = command.add_argument_group("method and output")
        command.set_defaults(accountant="rdp", adjacency=ADJACENCIES[0])
        if spec.accounting:
            add_accounting(method)
        if spec.adjacency:
            add_adjacency(method)
        if spec.figure:
            add_figure(command.add_argument_group("curve"))
        if spec.methods:
            add_methods(command.add_argument_group("comparison"))
        add_digits(method)
        add_formats(method)
    _add_account(commands)
    _add_audit(commands)
    _add_verify(commands)
    _add_bench(commands)
    _add_info(commands)
    return parser


def _add_account(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _add(
        commands,
        "account",
        account.account,
        "epsilon of any mechanisms, described in a JSON file",
        "Epsilon of whatever was released, at a given delta: by the exact curve and by\n"
        "Renyi-DP, as far as either can bound it. FILE holds what Mechanism.to_json() writes;\n"
        "- is the standard input. The exit code is 1 if neither can.",
        "  python -c 'import renyi; print((renyi.Laplace(2.0) * 3).to_json())' > run.json\n"
        "  renyi account run.json --delta 1e-5",
        _usage("account", "FILE --delta DELTA", "[option ...]"),
    )
    command.add_argument("file", metavar="FILE", help="JSON of a mechanism, or - for stdin")
    add_numbers(command.add_argument_group("numbers"), ("delta",))
    method = command.add_argument_group("method and output")
    add_adjacency(method)
    add_digits(method)
    add_formats(method)


def _add_audit(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _add(
        commands,
        "audit",
        audit.audit,
        "a lower bound of epsilon from an attack's scores",
        "What an attack proves: an epsilon below the bound is refuted, at the stated confidence.\n"
        "FILE has a line for each run, with a score and, after a comma, 1 if the record was there\n"
        "and 0 if it was not; with --one-run a line for each canary of a single run, included by\n"
        "a fair coin. Lines are in the order of the runs: the first half chooses a threshold.\n"
        "Also an array of two columns in a .npy file; - is the standard input.",
        "  renyi audit scores.csv --delta 1e-2",
        _usage("audit", "FILE --delta DELTA", "[--one-run] [option ...]"),
    )
    command.add_argument("file", metavar="FILE", help="CSV or NPY, or - for stdin")
    add_numbers(command.add_argument_group("numbers"), ("delta",))
    method = command.add_argument_group("method and output")
    method.add_argument("--one-run", action="store_true", help="scores of the canaries of one run")
    method.add_argument(
        "--confidence",
        type=lambda text: values.number(text, values.PROBABILITY),
        default=0.95,
        metavar="C",
        help="of the bound, 0 < C < 1 (default 0.95)",
    )
    add_digits(method)
    add_formats(method)


def _add_verify(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _add(
        commands,
        "verify",
        verification.verify,
        "check the engine against multi-precision arithmetic",
        "Compares the routes of the engine (binomial, series, quadrature, and the one it picks)\n"
        "with an mpmath reference: digits of agreement, and whether the certified bracket\n"
        "contains the reference; then, at five of the points at most, the Renyi-DP of every other\n"
        f"kind of mechanism. The exit code is 1 if any bracket does not.\n\n{SWEEP_NOTE}",
        "  renyi verify --sample-rate 0.01 --noise-multiplier 1 --order 8.5\n"
        "  renyi verify --random 200 --seed 1",
        _usage(
            "verify",
            "(--sample-rate Q --noise-multiplier SIGMA --order A | --random N [--seed S])",
            "[option ...]",
        ),
    )
    points = command.add_argument_group("points")
    add_numbers(points, ("sample_rate", "noise_multiplier", "order"))
    points.add_argument(
        "--random",
        type=one(Domain("from 1 to 1000000", lambda x: 1 <= x <= 1_000_000, whole=True)),
        metavar="N",
        help="N random points: Q in [1e-12, 1], SIGMA in [0.01, 1e6], A - 1 in [1e-8, 1e6]",
    )
    points.add_argument(
        "--seed",
        type=one(values.COUNT_FROM_ZERO),
        metavar="S",
        help="seed of --random (default 0)",
    )
    output = command.add_argument_group("method and output")
    output.add_argument(
        "--reference-digits",
        type=one(Domain("from 30 to 1000", lambda x: 30 <= x <= 1000, whole=True)),
        default=50,
        metavar="D",
        help="digits of the reference, 30 to 1000 (default 50)",
    )
    add_formats(output)


def _add_bench(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _add(
        commands,
        "bench",
        check.bench,
        "time the engine, beside other libraries if they are installed",
        "Times the engine on this machine. Other accounting libraries run the same cases if they\n"
        "are installed.",
        "  renyi bench --quick",
        _usage("bench", "[--quick] [--json | --csv]"),
    )
    command.add_argument("--quick", action="store_true", help="fewer repetitions")
    add_formats(command)


def _add_info(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _add(
        commands,
        "info",
        check.info,
        "how this copy was built",
        "Version, compiler, flags and instruction set of this copy; please add it to bug reports.",
        "  renyi info",
        _usage("info", "[--json]"),
    )
    command.add_argument("--json", action="store_true", help="print as JSON")


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help of up to 100 columns with the texts close to the options."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


class _Version(argparse.Action):
    """``--version``, which alone needs the engine's version."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from renyi import __version__

        print(f"renyi {__version__}")
        parser.exit()


def _usage(name: str, *lines: str) -> str:
    first = f"renyi {name} "
    return first + ("\n" + " " * len("usage: " + first)).join(lines)


def _add(
    commands: argparse._SubParsersAction[Parser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    short: str,
    description: str,
    examples: str,
    usage: str,
) -> Parser:
    command = commands.add_parser(
        name,
        help=short,
        description=description,
        epilog=f"example:\n{examples}",
        usage=usage,
        formatter_class=_HelpFormatter,
        allow_abbrev=False,
    )
    command.prog = f"renyi {name}"
    command.set_defaults(run=run, parser=command)
    return command
