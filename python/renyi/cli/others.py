"""The commands that take more than numbers."""

from __future__ import annotations

import argparse

from renyi.cli import account, audit, check, ledger, report, values, verification
from renyi.cli.command import HelpFormatter, add, usage
from renyi.cli.commands import RUN, SWEEP_NOTE
from renyi.cli.groups import add_adjacency, add_digits, add_formats, add_numbers, add_report, one
from renyi.cli.ledger_options import EXAMPLE as LEDGER_EXAMPLE
from renyi.cli.ledger_options import add_ledger
from renyi.cli.options import Parser
from renyi.cli.values import Domain


def add_account_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi account``."""
    command = add(
        commands,
        "account",
        account.account,
        "epsilon of any mechanisms, described in a JSON file",
        "Epsilon of whatever was released, at a given delta: by the exact curve and by\n"
        "Renyi-DP, as far as either can bound it. FILE holds what Mechanism.to_json() writes;\n"
        "- is the standard input. The exit code is 1 if neither can.",
        "  python -c 'import renyi; print((renyi.Laplace(2.0) * 3).to_json())' > run.json\n"
        "  renyi account run.json --delta 1e-5",
        usage("account", "FILE --delta DELTA", "[option ...]"),
    )
    command.add_argument("file", metavar="FILE", help="JSON of a mechanism, or - for stdin")
    add_numbers(command.add_argument_group("numbers"), ("delta",))
    method = command.add_argument_group("method and output")
    add_adjacency(method)
    add_digits(method)
    add_formats(method)


def add_ledger_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi ledger``."""
    command = add(
        commands,
        "ledger",
        ledger.run,
        "budgets of data sets in one file, charged before anything is released",
        "A ledger keeps what was spent on which data set, and refuses what would exceed a budget\n"
        "however the mechanisms are chosen along the way. The exit code is 3 for a refusal.",
        LEDGER_EXAMPLE.removeprefix("example:\n"),
        usage("ledger", "ACTION LEDGER ..."),
    )
    add_ledger(command, HelpFormatter)


def add_report_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi report``."""
    command = add(
        commands,
        "report",
        report.report,
        "a privacy statement for people, as Markdown or one HTML page",
        "Parameters, assumptions in plain words, epsilon by both accountants, what an attacker\n"
        "can tell, and warnings: of a run, of a mechanism described in a file, or of a ledger.",
        f"  renyi report {RUN} --delta 1e-5 --html report.html\n"
        "  renyi report --ledger privacy.db --dataset census",
        usage("report", "(RUN | --mechanism FILE) --delta DELTA", "[option ...]"),
    )
    numbers = ("noise_multiplier", "sample_rate", "batch_size", "dataset_size", "steps", "epochs")
    add_numbers(command.add_argument_group("numbers"), (*numbers, "delta"))
    add_report(command.add_argument_group("report"))
    add_adjacency(command.add_argument_group("method"))


def add_audit_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi audit``."""
    command = add(
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
        usage("audit", "FILE --delta DELTA", "[--one-run] [option ...]"),
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


def add_verify_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi verify``."""
    command = add(
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
        usage(
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


def add_bench_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi bench``."""
    command = add(
        commands,
        "bench",
        check.bench,
        "time the engine, beside other libraries if they are installed",
        "Times the engine on this machine. Other accounting libraries run the same cases if they\n"
        "are installed.",
        "  renyi bench --quick",
        usage("bench", "[--quick] [--json | --csv]"),
    )
    command.add_argument("--quick", action="store_true", help="fewer repetitions")
    add_formats(command)


def add_info_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi info``."""
    command = add(
        commands,
        "info",
        check.info,
        "how this copy was built",
        "Version, compiler, flags and instruction set of this copy; please add it to bug reports.",
        "  renyi info",
        usage("info", "[--json]"),
    )
    command.add_argument("--json", action="store_true", help="print as JSON")


OTHERS = (
    add_account_command,
    add_ledger_command,
    add_report_command,
    add_audit_command,
    add_verify_command,
    add_bench_command,
    add_info_command,
)
