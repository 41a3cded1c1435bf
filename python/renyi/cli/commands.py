"""The commands: what each takes, examples that can be run as they stand, and the parser."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from renyi._adjacency import ADJACENCIES
from renyi.cli.options import (
    COUNT,
    COUNT_FROM_ZERO,
    MAX_VALUES,
    POSITIVE,
    PROBABILITY,
    PROBABILITY_OR_NONE,
    USES,
    Domain,
    HelpFormatter,
    Parser,
    UsageError,
    add,
    add_accounting,
    add_adjacency,
    add_digits,
    add_figure,
    add_formats,
    add_limit,
    add_methods,
    add_numbers,
    add_report,
    add_sampling,
    add_strategies,
    add_strategy,
    join_negative_values,
    number,
    number_in,
    numbers_in,
    one,
    refuse_repeated,
    usage,
)

# The commands that take numbers: what each takes, and examples that can be run as they stand.


RUN = "--noise-multiplier 1.1 --sample-rate 0.004 --steps 15000"


RATE = "(--sample-rate Q | --batch-size B --dataset-size N)"


LENGTH = "(--steps T | --epochs E)"


TARGET = "--epsilon EPS --delta DELTA"


SIGMA = "--noise-multiplier SIGMA"


SWEEP_NOTE = (
    "Every number may be a list (0.8,1,1.2) or a range start:stop:step (1000:5000:1000, stop\n"
    "included); all combinations are printed as a table."
)


@dataclass(frozen=True)
class Command:
    """A command that takes numbers."""

    name: str
    run: str
    short: str
    description: str
    usage: tuple[str, ...]
    examples: str
    numbers: tuple[str, ...]
    accounting: bool = True
    adjacency: bool = False
    figure: bool = False
    methods: bool = False
    limit: bool = False
    sampling: bool = False


SAMPLING = ("sample_rate", "batch_size", "dataset_size")


COMMANDS = (
    Command(
        "epsilon",
        "guarantee.epsilon",
        "the guarantee of a training run, ready to publish",
        "Epsilon of a run at a given delta, with a sentence to publish and what it assumes.",
        (f"{SIGMA} --delta DELTA", RATE, LENGTH),
        f"  renyi epsilon {RUN} --delta 1e-5\n"
        "  renyi epsilon --noise-multiplier 0.8,1,1.2 --batch-size 256 --dataset-size 60000 \\\n"
        "                --epochs 10:50:10 --delta 1e-5",
        ("noise_multiplier", *SAMPLING, "steps", "epochs", "delta"),
        adjacency=True,
        sampling=True,
        limit=True,
    ),
    Command(
        "delta",
        "guarantee.delta",
        "delta of a training run at a given epsilon",
        "Delta of a run at a given epsilon, with a sentence to publish and what it assumes.",
        (f"{SIGMA} --epsilon EPS", RATE, LENGTH),
        f"  renyi delta {RUN} --epsilon 2",
        ("noise_multiplier", *SAMPLING, "steps", "epochs", "epsilon"),
        adjacency=True,
        sampling=True,
    ),
    Command(
        "curve",
        "curve.curve",
        "delta for many epsilon, or the trade-off of test errors, as table or figure",
        "The whole guarantee of a run: delta against epsilon, or with --tradeoff the least type\n"
        "II error (beta, missed records) of any test for one record's presence against its type\n"
        "I error (alpha, false alarms). As a table; as a figure with --plot or --show, which\n"
        "need matplotlib (python -m pip install matplotlib).",
        (SIGMA, RATE, LENGTH),
        f"  renyi curve {RUN}\n"
        f"  renyi curve {RUN} \\\n"
        "              --compare rdp,gdp --plot curve.png\n"
        f"  renyi curve {RUN} --tradeoff",
        ("noise_multiplier", *SAMPLING, "steps", "epochs", "epsilon", "alpha"),
        accounting=False,
        adjacency=True,
        sampling=True,
        figure=True,
    ),
    Command(
        "compare",
        "compare.compare",
        "classical composition, moments and the exact curve side by side",
        "Epsilon at a given delta, delta at a given epsilon, or with --target the noise that is\n"
        "enough for both, by every method: no sampling at\n"
        "all, the subsampling theorem with advanced or optimal composition, moments bounded by a\n"
        "constant, the moments accountant, Renyi-DP, the exact curve. As a table; with --plot or\n"
        "--show as a figure over the steps, which needs matplotlib. The noise multiplier is\n"
        "relative to the sensitivity of each method's own adjacency.",
        (f"({SIGMA} (--delta DELTA | --epsilon EPS) | --target EPS --delta DELTA)", RATE, LENGTH),
        "  renyi compare --noise-multiplier 4 --sample-rate 0.01 --steps 1000 --delta 1e-5\n"
        "  renyi compare --noise-multiplier 4 --sample-rate 0.01 --steps 10000 --delta 1e-5 \\\n"
        "                --plot comparison.png\n"
        "  renyi compare --target 1 --delta 1e-5 --sample-rate 0.01 --steps 1000\n"
        "  renyi compare --samplings --noise-multiplier 1 --delta 1e-5 --epochs 10 \\\n"
        "                --batch-size 600 --dataset-size 60000",
        ("noise_multiplier", *SAMPLING, "steps", "epochs", "epsilon", "delta", "target"),
        accounting=False,
        methods=True,
    ),
    Command(
        "noise",
        "calibrate.noise",
        "smallest noise multiplier for a target guarantee",
        "Smallest noise multiplier with which a run meets (epsilon, delta). It is printed rounded\n"
        "up, and the guarantee of the printed number is computed afresh.",
        (TARGET, RATE, LENGTH),
        "  renyi noise --epsilon 2 --delta 1e-5 --sample-rate 0.004 --steps 15000\n"
        "  renyi noise --epsilon 1,2,4,8 --delta 1e-5 \\\n"
        "              --batch-size 256 --dataset-size 60000 --epochs 20",
        ("target_epsilon", "delta", *SAMPLING, "steps", "epochs"),
        adjacency=True,
        sampling=True,
    ),
    Command(
        "steps",
        "calibrate.steps",
        "largest number of steps for a target guarantee",
        "Largest number of steps that stays within (epsilon, delta).",
        (f"{TARGET} {SIGMA}", RATE),
        "  renyi steps --epsilon 2 --delta 1e-5 --noise-multiplier 1.1 --sample-rate 0.004",
        ("target_epsilon", "delta", "noise_multiplier", *SAMPLING),
        adjacency=True,
        sampling=True,
    ),
    Command(
        "rate",
        "calibrate.rate",
        "largest sampling rate for a target guarantee",
        "Largest Poisson sampling rate with which a run meets (epsilon, delta). It is printed\n"
        "rounded down, and the guarantee of the printed number is computed afresh. With\n"
        "--dataset-size the expected batch size is printed too.",
        (f"{TARGET} {SIGMA}", "--steps T [--dataset-size N]"),
        "  renyi rate --epsilon 2 --delta 1e-5 --noise-multiplier 1.1 --steps 15000 \\\n"
        "             --dataset-size 60000",
        ("target_epsilon", "delta", "noise_multiplier", "steps", "dataset_size"),
    ),
    Command(
        "rdp",
        "guarantee.rdp",
        "Renyi-DP of a training run at given orders",
        "Renyi-DP of a run at given orders: a certified upper bound, printed rounded up.",
        (f"{SIGMA} --orders A", RATE, LENGTH),
        f"  renyi rdp {RUN} --orders 2,4,8,16",
        ("noise_multiplier", *SAMPLING, "steps", "epochs", "rdp_orders"),
        accounting=False,
    ),
)


# The options of ``renyi ledger``.


SHARE = Domain("from 0 to 1", lambda x: 0 <= x <= 1)


LEDGER_ACTIONS = {
    "create": "add a data set with a budget; makes the file if there is none",
    "charge": "record uses of a mechanism before they are run, or refuse them",
    "reserve": "set uses aside for a long run; they count as spent until settled",
    "settle": "say how many uses of a reservation there were",
    "status": "what is left of each budget",
    "history": "all that was recorded of a data set",
    "verify": "check hashes and balances; exit code 1 if anything is wrong",
    "rebuild": "compute anew what was spent, from a history that is whole",
    "backup": "write all that is recorded to a new file, while others charge",
    "export": "print all histories as lines of JSON",
    "import": "add the data sets of such lines",
    "check": "exit code 3 if uses would not fit, or too little is left",
}


LEDGER_EXAMPLE = """\
  renyi ledger create privacy.db census --epsilon 1 --delta 1e-6
  python -c 'import renyi; print(renyi.Gaussian(20.0).to_json())' > ages.json
  renyi ledger charge privacy.db census ages.json --count 3 --note ages
  renyi ledger status privacy.db"""


def add_ledger(command: Parser, formatter: type[argparse.HelpFormatter]) -> None:
    """Add an option parser for each thing that is done with a ledger."""
    actions = command.add_subparsers(dest="action", metavar="ACTION", title="actions")
    actions.required = True
    parsers = {}
    for name, words in LEDGER_ACTIONS.items():
        parsers[name] = parser = actions.add_parser(
            name, help=words, description=words, formatter_class=formatter, allow_abbrev=False
        )
        parser.prog = f"renyi ledger {name}"
        parser.add_argument("path", metavar="LEDGER", help="the file")
        parser.set_defaults(parser=parser, dataset=None)
        if name in ("status", "history", "verify", "export", "check"):
            parser.add_argument(
                "--read-only", action="store_true", help="for whoever may not write the file"
            )
        if name not in ("export", "backup"):
            parser.add_argument("--json", action="store_true", help="print as JSON")
    for name in "create", "charge", "reserve", "settle", "history", "rebuild", "check":
        parsers[name].add_argument("dataset", metavar="DATASET", help="name of the data set")
    parsers["status"].add_argument("dataset", metavar="DATASET", nargs="?", help="default: all")
    _add_budget(parsers["create"])
    for name in "charge", "reserve", "check":
        many: dict[str, Any] = {"nargs": "?"} if name == "check" else {}
        parsers[name].add_argument(
            "mechanism", metavar="MECHANISM", help="file of JSON, or - for stdin", **many
        )
        parsers[name].add_argument(
            "--count", type=one(USES), default=1, metavar="N", help="uses (default 1)"
        )
    parsers["settle"].add_argument("reservation", type=one(COUNT), metavar="NUMBER")
    parsers["settle"].add_argument("used", type=one(COUNT_FROM_ZERO), metavar="USED")
    for name in "create", "charge", "reserve", "settle":
        parsers[name].add_argument("--note", default="", metavar="TEXT", help="for the history")
    parsers["verify"].add_argument(
        "--head", action="append", metavar="HASH", help="of an earlier status: must be found"
    )
    parsers["backup"].add_argument("target", metavar="FILE", help="a new file")
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
    group.add_argument("--epsilon", type=number_in(POSITIVE), metavar="EPS")
    group.add_argument("--delta", type=number_in(PROBABILITY_OR_NONE), metavar="DELTA")
    group.add_argument("--rho", type=number_in(POSITIVE), metavar="RHO")
    group.add_argument(
        "--accountant",
        choices=("renyi", "gdp", "zcdp"),
        metavar="NAME",
        help="the filter: renyi (default), gdp (Gaussian noise without loss), zcdp (with --rho)",
    )
    add_adjacency(group)


# The commands that take more than numbers.


def _add_delta_from_zero(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--delta",
        type=numbers_in(PROBABILITY_OR_NONE),
        metavar="DELTA",
        help="the delta of (epsilon, delta), 0 <= delta < 1; 0: a pure guarantee, of losses that "
        "have a bound",
    )


def add_account_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi account``."""
    command = add(
        commands,
        "account",
        "files.account",
        "epsilon or delta of any mechanisms, described in a JSON file",
        "Epsilon of whatever was released at a given delta, or delta at a given epsilon, with a\n"
        "sentence to publish and what it assumes: by the exact curve and by\n"
        "Renyi-DP, as far as either can bound it. FILE holds what Mechanism.to_json() writes;\n"
        "- is the standard input. The exit code is 1 if neither can.",
        "  python -c 'import renyi; print((renyi.Laplace(2.0) * 3).to_json())' > run.json\n"
        "  renyi account run.json --delta 1e-5",
        usage("account", "FILE (--delta DELTA | --epsilon EPS)", "[option ...]"),
    )
    command.add_argument("file", metavar="FILE", help="JSON of a mechanism, or - for stdin")
    numbers = command.add_argument_group("numbers")
    add_numbers(numbers, ("epsilon",))
    _add_delta_from_zero(numbers)
    method = command.add_argument_group("method and output")
    add_adjacency(method)
    add_digits(method)
    add_formats(method)


def add_ledger_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi ledger``."""
    command = add(
        commands,
        "ledger",
        "ledger.run",
        "budgets of data sets in one file, charged before anything is released",
        "A ledger keeps what was spent on which data set, and refuses what would exceed a budget\n"
        "however the mechanisms are chosen along the way. The exit code is 3 for a refusal.",
        LEDGER_EXAMPLE,
        usage("ledger", "ACTION LEDGER ..."),
    )
    add_ledger(command, HelpFormatter)


def add_report_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi report``."""
    command = add(
        commands,
        "report",
        "files.report",
        "a privacy statement for people, as Markdown or one HTML page",
        "Parameters, assumptions in plain words, epsilon by both accountants, what an attacker\n"
        "can tell, and warnings: of a run, of a mechanism described in a file, or of a ledger.",
        f"  renyi report {RUN} --delta 1e-5 --html report.html\n"
        "  renyi report --ledger privacy.db --dataset census",
        usage("report", "(RUN | --mechanism FILE) --delta DELTA", "[option ...]"),
    )
    numbers = ("noise_multiplier", "sample_rate", "batch_size", "dataset_size", "steps", "epochs")
    group = command.add_argument_group("numbers")
    add_numbers(group, numbers)
    _add_delta_from_zero(group)
    add_report(command.add_argument_group("report"))
    method = command.add_argument_group("method")
    add_adjacency(method)
    add_sampling(method)


def add_audit_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi audit``."""
    command = add(
        commands,
        "audit",
        "files.audit",
        "a lower bound of epsilon from an attack's scores",
        "What an attack proves: an epsilon below the bound is refuted, at the stated confidence.\n"
        "FILE has a line for each run, with a score and, after a comma, 1 if the record was there\n"
        "and 0 if it was not; with --one-run a line for each canary of a single run, included by\n"
        "a fair coin. Lines are in the order of the runs: the first half chooses a threshold.\n"
        "A first line of names (score,present) may be there or not.\n"
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
        type=lambda text: number(text, PROBABILITY),
        default=0.95,
        metavar="C",
        help="of the bound, 0 < C < 1 (default 0.95)",
    )
    add_digits(method)
    add_formats(method)


def add_check_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi check``."""
    command = add(
        commands,
        "check",
        "check.certificates",
        "check certificates of guarantees, without the engine",
        "Evaluates what renyi epsilon --certificate wrote anew, in balls (python-flint), and\n"
        "prints what is proved, by which theorems and under which assumptions. renyi/check.py\n"
        "does the same copied out alone. The exit code is 1 if a certificate is rejected.",
        f"  renyi epsilon {RUN} --delta 1e-5 --certificate run.json\n  renyi check run.json",
        usage("check", "FILE ..."),
    )
    command.add_argument("files", metavar="FILE", nargs="+", help="certificates")


def add_verify_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi verify``."""
    command = add(
        commands,
        "verify",
        "check.verify",
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
        type=one(COUNT_FROM_ZERO),
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


def add_info_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi info``."""
    command = add(
        commands,
        "info",
        "check.info",
        "how this copy was built",
        "Version, compiler, flags and instruction set of this copy; please add it to bug reports.",
        "  renyi info",
        usage("info", "[--json]"),
    )
    command.add_argument("--json", action="store_true", help="print as JSON")


def add_completion_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``renyi completion``."""
    command = add(
        commands,
        "completion",
        "commands.completion",
        "commands and options for the completion of a shell",
        "Prints what makes a shell complete the commands and options of renyi.",
        '  eval "$(renyi completion bash)"\n'
        "  renyi completion fish > ~/.config/fish/completions/renyi.fish",
        usage("completion", "(bash | zsh | fish)"),
    )
    command.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL")


OTHERS = (
    add_account_command,
    add_ledger_command,
    add_report_command,
    add_audit_command,
    add_check_command,
    add_verify_command,
    add_info_command,
    add_completion_command,
)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; ``run`` is the chosen command's function and ``parser`` its parser."""
    words = join_negative_values(arguments)
    options, unknown = build_parser().parse_known_args(words)
    refuse_repeated(words, options.parser)
    if unknown:  # reported by the command, which knows what may have been meant
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    rows = math.prod(len(value) for value in vars(options).values() if isinstance(value, list))
    if rows > MAX_VALUES:
        raise UsageError(f"lists and ranges must give at most {MAX_VALUES:,} rows, got {rows:,}")
    return options


def build_parser() -> Parser:
    """Return the parser of the whole command."""
    parser = Parser(
        prog="renyi",
        description="Differential privacy guarantees of noisy, Poisson-sampled training (DP-SGD).\n"
        "A printed guarantee is never better than the truth: epsilon and delta are rounded up.",
        epilog=f"start here:\n  renyi epsilon {RUN} --delta 1e-5\n\n"
        "renyi COMMAND --help explains a command, with an example.",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, help="print the version and stop")
    parser.set_defaults(run=None, parser=parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for spec in COMMANDS:
        command = add(
            commands,
            spec.name,
            spec.run,
            spec.short,
            f"{spec.description}\n\n{SWEEP_NOTE}",
            spec.examples,
            usage(spec.name, *spec.usage, "[option ...]"),
        )
        add_numbers(command.add_argument_group("numbers"), spec.numbers)
        method = command.add_argument_group("method and output")
        command.set_defaults(accountant="rdp", adjacency=ADJACENCIES[0])
        if spec.accounting:
            add_accounting(method)
        if spec.adjacency:
            add_adjacency(method)
        if spec.sampling:
            add_sampling(method)
        if spec.limit:
            add_limit(method)
        if spec.figure:
            add_figure(command.add_argument_group("curve"))
        if spec.methods:
            add_methods(command.add_argument_group("comparison"))
        add_digits(method)
        add_formats(method)
        if spec.name == "noise":
            add_strategy(command)
        elif spec.name == "compare":
            add_strategies(command)
    for add_command in OTHERS:
        add_command(commands)
    return parser


class _Version(argparse.Action):
    """``--version``, which alone needs the engine's version."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from renyi import __version__

        print(f"renyi {__version__}")
        parser.exit()


# Completion: what a shell needs to complete commands and options.


_BASH = """\
_renyi() {{
    local words
    case "${{COMP_WORDS[1]}}" in
{cases}
        *) words="{commands}" ;;
    esac
    [ "$COMP_CWORD" -eq 1 ] && words="{commands}"
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _renyi renyi"""


def completion(options: argparse.Namespace) -> int:
    """Print the script of a shell."""
    known = _options_of_commands()
    if options.shell == "fish":
        print("complete -c renyi -n __fish_use_subcommand -xa '" + " ".join(known) + "'")
        for command, flags in known.items():
            for flag in flags:
                where = f"-n '__fish_seen_subcommand_from {command}'"
                print(f"complete -c renyi {where} -l {flag.removeprefix('--')}")
        return 0
    if options.shell == "zsh":
        print("autoload -U bashcompinit && bashcompinit")
    cases = "\n".join(f'        {name}) words="{" ".join(known[name])}" ;;' for name in known)
    print(_BASH.format(cases=cases, commands=" ".join(known)))
    return 0


def _options_of_commands() -> dict[str, list[str]]:
    """Return the commands with their long options, from the parser itself."""
    (commands,) = (
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return {
        name: [flag for flag in parser._option_string_actions if flag.startswith("--")]
        for name, parser in commands.choices.items()
    }
