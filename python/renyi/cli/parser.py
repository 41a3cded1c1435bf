"""From arguments to options: the parser of the whole command, and what shells complete."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

from renyi._adjacency import ADJACENCIES
from renyi.cli.commands import COMMANDS, OTHERS, RUN, SWEEP_NOTE
from renyi.cli.options import (
    HelpFormatter,
    Parser,
    add,
    add_accounting,
    add_adjacency,
    add_digits,
    add_figure,
    add_formats,
    add_limit,
    add_methods,
    add_numbers,
    add_strategies,
    add_strategy,
    join_negative_values,
    refuse_repeated,
    usage,
)
from renyi.cli.samplings import add_sampling
from renyi.cli.values import MAX_VALUES, UsageError


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
