"""The commands: their options, runnable examples, and the parser."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from renyi._adjacency import ADJACENCIES
from renyi.cli.options import (
    MAX_VALUES,
    POISSON,
    HelpFormatter,
    Parser,
    UsageError,
    add_options,
    join_negative_values,
    refuse_repeated,
    usage,
)

RUN = "--noise-multiplier 1.1 --sample-rate 0.004 --steps 15000"
RATE = "(--sample-rate Q | --batch-size B --dataset-size N)"
LENGTH = "(--steps T | --epochs E)"
TARGET = "--epsilon EPS --delta DELTA"
SIGMA = "--noise-multiplier SIGMA"
REST = "[option ...]"
SWEEP_NOTE = (
    "Every number may be a list (0.8,1,1.2) or a range start:stop:step (1000:5000:1000, stop\n"
    "included); all combinations are printed as a table."
)
SAMPLING = ("sample_rate", "batch_size", "dataset_size")
LENGTHS = ("steps", "epochs")
ACCOUNTING = ("accountant", "orders", "conversion")
DRAWS = ("sampling", "batch_limit")
NUMBERS = ("noise_multiplier", *SAMPLING, *LENGTHS)  # options of a run
HOW = (*ACCOUNTING, "adjacency", *DRAWS)
PRINTED = ("digits", "formats")
METHOD = "method and output"
CORRELATED = "correlated noise, with --batch-size and --dataset-size"


@dataclass(frozen=True)
class Command:
    """A command: its function, its texts, and its options by the headings of its help.

    ``sweep``: numbers may be lists, and all combinations are computed.
    """

    name: str
    run: str
    short: str
    description: str
    usage: tuple[str, ...]
    examples: str
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    sweep: bool = False


COMMANDS = (
    Command(
        "epsilon",
        "guarantee.epsilon",
        "the guarantee of a training run, ready to publish",
        "Epsilon of a run at a given delta, with a sentence to publish and what it assumes.",
        (f"{SIGMA} --delta DELTA", RATE, LENGTH, REST),
        f"  renyi epsilon {RUN} --delta 1e-5\n"
        "  renyi epsilon --noise-multiplier 0.8,1,1.2 --batch-size 256 --dataset-size 60000 \\\n"
        "                --epochs 10:50:10 --delta 1e-5",
        {
            "numbers": (*NUMBERS, "delta"),
            METHOD: (*HOW, "tuning_runs", "max_epsilon", "certificate", *PRINTED),
        },
        sweep=True,
    ),
    Command(
        "delta",
        "guarantee.delta",
        "delta of a training run at a given epsilon",
        "Delta of a run at a given epsilon, with a sentence to publish and what it assumes.",
        (f"{SIGMA} --epsilon EPS", RATE, LENGTH, REST),
        f"  renyi delta {RUN} --epsilon 2",
        {
            "numbers": (*NUMBERS, "epsilon"),
            METHOD: (*HOW, "tuning_runs", *PRINTED),
        },
        sweep=True,
    ),
    Command(
        "curve",
        "guarantee.curve",
        "delta for many epsilon, or the trade-off of test errors, as table or figure",
        "The whole guarantee of a run: delta against epsilon, or with --tradeoff the least type\n"
        "II error (beta, missed records) of any test for one record's presence against its type\n"
        "I error (alpha, false alarms). As a table; as a figure with --plot or --show, which\n"
        "need matplotlib (python -m pip install matplotlib).",
        (SIGMA, RATE, LENGTH, REST),
        f"  renyi curve {RUN}\n"
        f"  renyi curve {RUN} \\\n"
        "              --compare rdp,gdp --plot curve.png\n"
        f"  renyi curve {RUN} --tradeoff",
        {
            "numbers": (*NUMBERS, "epsilon", "alpha"),
            METHOD: ("adjacency", *DRAWS, *PRINTED),
            "curve": ("tradeoff", "points", "compare", "plot", "show"),
        },
        sweep=True,
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
        (
            f"({SIGMA} (--delta DELTA | --epsilon EPS) | --target EPS --delta DELTA)",
            RATE,
            LENGTH,
            REST,
        ),
        "  renyi compare --noise-multiplier 4 --sample-rate 0.01 --steps 1000 --delta 1e-5\n"
        "  renyi compare --noise-multiplier 4 --sample-rate 0.01 --steps 10000 --delta 1e-5 \\\n"
        "                --plot comparison.png\n"
        "  renyi compare --target 1 --delta 1e-5 --sample-rate 0.01 --steps 1000\n"
        "  renyi compare --samplings --noise-multiplier 1 --delta 1e-5 --epochs 10 \\\n"
        "                --batch-size 600 --dataset-size 60000",
        {
            "numbers": (*NUMBERS, "epsilon", "delta", "target"),
            METHOD: PRINTED,
            "comparison": ("methods", "samplings", "plot", "show"),
            CORRELATED: ("strategies",),
        },
        sweep=True,
    ),
    Command(
        "noise",
        "calibrate.noise",
        "smallest noise multiplier for a target guarantee",
        "Smallest noise multiplier with which a run meets (epsilon, delta). It is printed rounded\n"
        "up, and the guarantee of the printed number is computed afresh.",
        (TARGET, RATE, LENGTH, REST),
        "  renyi noise --epsilon 2 --delta 1e-5 --sample-rate 0.004 --steps 15000\n"
        "  renyi noise --epsilon 1,2,4,8 --delta 1e-5 \\\n"
        "              --batch-size 256 --dataset-size 60000 --epochs 20",
        {
            "numbers": ("target_epsilon", "delta", *SAMPLING, *LENGTHS),
            METHOD: (*HOW, *PRINTED),
            CORRELATED: ("strategy", "bands", "buffers", "fixed_order"),
        },
        sweep=True,
    ),
    Command(
        "steps",
        "calibrate.steps",
        "largest number of steps for a target guarantee",
        "Largest number of steps that stays within (epsilon, delta).",
        (f"{TARGET} {SIGMA}", RATE, REST),
        "  renyi steps --epsilon 2 --delta 1e-5 --noise-multiplier 1.1 --sample-rate 0.004",
        {
            "numbers": ("target_epsilon", "delta", "noise_multiplier", *SAMPLING),
            METHOD: (*HOW, *PRINTED),
        },
        sweep=True,
    ),
    Command(
        "rate",
        "calibrate.rate",
        "largest sampling rate for a target guarantee",
        "Largest Poisson sampling rate with which a run meets (epsilon, delta). It is printed\n"
        "rounded down, and the guarantee of the printed number is computed afresh. With\n"
        "--dataset-size the expected batch size is printed too.",
        (f"{TARGET} {SIGMA}", "--steps T [--dataset-size N]", REST),
        "  renyi rate --epsilon 2 --delta 1e-5 --noise-multiplier 1.1 --steps 15000 \\\n"
        "             --dataset-size 60000",
        {
            "numbers": ("target_epsilon", "delta", "noise_multiplier", "steps", "dataset_size"),
            METHOD: (*ACCOUNTING, *PRINTED),
        },
        sweep=True,
    ),
    Command(
        "rdp",
        "guarantee.rdp",
        "Renyi-DP of a training run at given orders",
        "Renyi-DP of a run at given orders: a certified upper bound, printed rounded up.",
        (f"{SIGMA} --orders A", RATE, LENGTH, REST),
        f"  renyi rdp {RUN} --orders 2,4,8,16",
        {"numbers": (*NUMBERS, "rdp_orders"), METHOD: PRINTED},
        sweep=True,
    ),
    Command(
        "account",
        "files.account",
        "epsilon or delta of any mechanisms, described in a JSON file",
        "Epsilon of whatever was released at a given delta, or delta at a given epsilon, with a\n"
        "sentence to publish and what it assumes: by the exact curve and by\n"
        "Renyi-DP, as far as either can bound it. FILE holds what Mechanism.to_json() writes;\n"
        "- is the standard input. The exit code is 1 if neither can.",
        ("FILE (--delta DELTA | --epsilon EPS)", REST),
        "  python -c 'import renyi; print((renyi.Laplace(2.0) * 3).to_json())' > run.json\n"
        "  renyi account run.json --delta 1e-5",
        {"numbers": ("epsilon", "delta_from_zero"), METHOD: ("adjacency", *PRINTED)},
        arguments=("mechanism_file",),
    ),
    Command(
        "shuffle",
        "files.shuffle",
        "what local randomizers are worth where a shuffler hides who sent which report",
        "Epsilon of the shuffled reports of all users at a given delta, or delta at a given\n"
        "epsilon; without --local-epsilon or --users the largest and the smallest that meet both.\n"
        "A record is replaced by another one: the number of users is public.",
        ("--local-epsilon EPS0 --users N (--delta DELTA | --epsilon EPS)", REST),
        "  renyi shuffle --local-epsilon 4 --users 100000 --delta 1e-6\n"
        "  renyi shuffle --users 100000 --epsilon 0.5 --delta 1e-6 \\\n"
        "                --randomizer randomized-response --choices 20",
        {
            "numbers": ("local_epsilon", "users", "one_epsilon", "one_delta"),
            METHOD: ("randomizer", "choices", "rounds", *PRINTED),
        },
    ),
    Command(
        "ledger",
        "ledger.run",
        "budgets of data sets in one file, charged before anything is released",
        "A ledger keeps what was spent on which data set, and refuses what would exceed a budget\n"
        "however the mechanisms are chosen along the way. The exit code is 3 for a refusal.",
        ("ACTION LEDGER ...",),
        "  renyi ledger create privacy.db census --epsilon 1 --delta 1e-6\n"
        "  python -c 'import renyi; print(renyi.Gaussian(20.0).to_json())' > ages.json\n"
        "  renyi ledger charge privacy.db census ages.json --count 3 --note ages\n"
        "  renyi ledger status privacy.db",
    ),
    Command(
        "report",
        "files.report",
        "a privacy statement for people and programs: Markdown, one HTML page, JSON, YAML",
        "Parameters, assumptions in plain words, epsilon by both accountants, what an attacker\n"
        "can tell, and warnings: of a run, of a mechanism described in a file, or of a ledger.",
        ("((RUN | --mechanism FILE) --delta DELTA | --ledger LEDGER --dataset NAME)", REST),
        f"  renyi report {RUN} --delta 1e-5 --html report.html\n"
        f"  renyi report {RUN} --delta 1e-5 --format registry --disclosure told.json\n"
        "  renyi report --ledger privacy.db --dataset census",
        {
            "numbers": (*NUMBERS, "delta_from_zero"),
            "report": (
                *("mechanism", "count", "ledger", "dataset", "query"),
                *("author", "date", "title", "disclosure"),
                *("format", "html", "markdown", "certificate"),
            ),
            "method": ("adjacency", *DRAWS),
        },
    ),
    Command(
        "audit",
        "audit.audit",
        "a lower bound of epsilon from an attack's scores",
        "What an attack proves: an epsilon below the bound is refuted, at the stated confidence.\n"
        "FILE has a line for each run, with a score and, after a comma, 1 if the record was there\n"
        "and 0 if it was not; with --one-run a line for each canary of a single run, included by\n"
        "a fair coin. A first line of names (score, included, id) may be there or not. Also JSON\n"
        "(a list of objects, lists by name, or an object a line), or an array of two columns in a\n"
        ".npy file; - is the standard input. With what was reported, by a run, --mechanism or\n"
        "--reported, the p-value of it; the exit code is 1 if it is refuted. --plot draws how\n"
        "often such an audit would have found less noise, or more uses of the mechanism.",
        ("FILE --delta DELTA", "[--one-run | --sequential] [RUN | --mechanism FILE]", REST),
        "  renyi audit scores.csv --delta 1e-2\n"
        "  renyi audit scores.json --canaries canaries.csv --one-run --delta 1e-5 \\\n"
        f"              {RUN} --plot power.png",
        {
            "numbers": ("delta",),
            "scores": ("one_run", "sequential", "sides", "canaries", "confidence"),
            "what was reported": (*NUMBERS, "mechanism", "reported"),
            "output": (*PRINTED, "plot", "show"),
        },
        arguments=("scores",),
    ),
    Command(
        "check",
        "check.certificates",
        "check certificates of guarantees and reports, without the engine",
        "Evaluates what renyi epsilon --certificate wrote anew, in balls (python-flint), and\n"
        "prints what is proved, by which theorems and under which assumptions. renyi/check.py\n"
        "does the same copied out alone. A report that states the hash of a certificate is given\n"
        "with it. The exit code is 1 if a certificate or the statement of a report is rejected.",
        ("FILE ...",),
        f"  renyi epsilon {RUN} --delta 1e-5 --certificate run.json\n  renyi check run.json",
        arguments=("certificates",),
    ),
    Command(
        "verify",
        "check.verify",
        "check the engine against multi-precision arithmetic",
        "Compares the routes of the engine (binomial, series, quadrature, and the one it picks)\n"
        "with an mpmath reference: digits of agreement, and whether the certified bracket\n"
        "contains the reference; then, at five of the points at most, the Renyi-DP of every other\n"
        "kind of mechanism. The exit code is 1 if any bracket does not.",
        ("(--sample-rate Q --noise-multiplier SIGMA --order A | --random N [--seed S])", REST),
        "  renyi verify --sample-rate 0.01 --noise-multiplier 1 --order 8.5\n"
        "  renyi verify --random 200 --seed 1",
        {
            "points": ("sample_rate", "noise_multiplier", "order", "random", "seed"),
            METHOD: ("reference_digits", "formats"),
        },
        sweep=True,
    ),
    Command(
        "info",
        "check.info",
        "how this copy was built",
        "Version, compiler, flags and instruction set of this copy; please add it to bug reports.",
        ("[--json]",),
        "  renyi info",
        arguments=("json",),
    ),
    Command(
        "completion",
        "commands.completion",
        "commands and options for the completion of a shell",
        "Prints what makes a shell complete the commands and options of renyi.",
        ("(bash | zsh | fish)",),
        '  eval "$(renyi completion bash)"\n'
        "  renyi completion fish > ~/.config/fish/completions/renyi.fish",
        arguments=("shell",),
    ),
)

LEDGER_ACTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "create": (
        "add a data set with a budget; makes the file if there is none",
        ("json", "data_set"),
    ),
    "charge": (
        "record uses of a mechanism before they are run, or refuse them",
        ("json", "data_set", "charged", "uses", "note", "proof"),
    ),
    "reserve": (
        "set uses aside for a long run; they count as spent until settled",
        ("json", "data_set", "charged", "uses", "note", "proof"),
    ),
    "settle": (
        "say how many uses of a reservation there were",
        ("json", "data_set", "reservation", "used", "note"),
    ),
    "status": ("what is left of each budget", ("read_only", "json", "any_data_set")),
    "history": ("all that was recorded of a data set", ("read_only", "json", "data_set")),
    "verify": (
        "check hashes and balances; exit code 1 if anything is wrong",
        ("read_only", "json", "head"),
    ),
    "rebuild": ("compute anew what was spent, from a history that is whole", ("json", "data_set")),
    "backup": ("write all that is recorded to a new file, while others charge", ("backup",)),
    "export": ("print all histories as lines of JSON", ("read_only",)),
    "import": ("add the data sets of such lines", ("json", "lines")),
    "check": (
        "exit code 3 if uses would not fit, or too little is left",
        ("read_only", "json", "data_set", "asked", "asked_uses", "min_remaining"),
    ),
}
"""The actions on a ledger: a text, and the options after the file."""
BUDGET = ("budget_epsilon", "budget_delta", "rho", "filter", "adjacency")


def add_command(commands: argparse._SubParsersAction[Parser], spec: Command) -> None:
    """Add a command to the parser; its function is loaded when it runs."""
    note = f"\n\n{SWEEP_NOTE}" if spec.sweep else ""
    command = commands.add_parser(
        spec.name,
        help=spec.short,
        description=spec.description + note,
        epilog=f"example:\n{spec.examples}",
        usage=usage(spec.name, *spec.usage),
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    command.prog = f"renyi {spec.name}"
    command.set_defaults(run=spec.run, parser=command)
    command.set_defaults(sampling=POISSON, batch_limit=None, tuning_runs=None)
    if spec.sweep:
        command.set_defaults(accountant="rdp", adjacency=ADJACENCIES[0])
    add_options(command, *spec.arguments)
    for heading, names in spec.groups.items():
        add_options(command.add_argument_group(heading), *names)
    if spec.name == "ledger":
        add_ledger_actions(command)


def add_ledger_actions(command: Parser) -> None:
    """Add a parser for each action on a ledger."""
    actions = command.add_subparsers(dest="action", metavar="ACTION", title="actions")
    actions.required = True
    for name, (words, options) in LEDGER_ACTIONS.items():
        parser = actions.add_parser(
            name, help=words, description=words, formatter_class=HelpFormatter, allow_abbrev=False
        )
        parser.prog = f"renyi ledger {name}"
        parser.set_defaults(parser=parser, dataset=None)
        add_options(parser, "path", *options)
        if name == "create":
            group = parser.add_argument_group("budget, --epsilon with --delta or --rho")
            add_options(group, *BUDGET)
            add_options(parser, "note")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; ``run`` is the chosen command's function and ``parser`` its parser."""
    words = join_negative_values(arguments)
    options, unknown = build_parser().parse_known_args(words)
    refuse_repeated(words, options.parser)
    if unknown:  # the command reports it, as it knows similar options
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
        add_command(commands, spec)
    return parser


class _Version(argparse.Action):
    """``--version``, which alone needs the engine's version."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from renyi import __version__

        print(f"renyi {__version__}")
        parser.exit()


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
    parts = build_parser()._actions
    (commands,) = (part for part in parts if isinstance(part, argparse._SubParsersAction))
    known = {
        name: [flag for flag in parser._option_string_actions if flag.startswith("--")]
        for name, parser in commands.choices.items()
    }
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
