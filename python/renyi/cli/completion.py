"""``renyi completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import argparse

from renyi.cli.parser import build_parser

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
