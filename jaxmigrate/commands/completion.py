"""`jaxmigrate completion SHELL`: a script by which a shell completes commands, options and their values.

It is made from the parser, so that it cannot be out of date.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from jaxmigrate.commands.parsers import actions, subcommands
from jaxmigrate.findings.rule_pages import rule_titles

BASH = """\
_jaxmigrate() {{
    local word command="" current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} words=""
    COMPREPLY=()
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        [[ $word == -- ]] && return
        [[ -z $command && $word != -* ]] && command=$word
    done
    case "$command $previous" in
{values}
    esac
    if [[ -z $words ]]; then
        case "$command" in
{options}
        esac
        [[ -n $command && $current != -* && $command != rule && $command != completion ]] && return
    fi
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _jaxmigrate jaxmigrate
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def run(options: argparse.Namespace) -> int:
    """Prints the script for a shell."""
    from jaxmigrate.cli import full_parser

    known = _commands(full_parser())
    if options.shell == "fish":
        print("\n".join(_fish(known)))
    else:
        print((ZSH if options.shell == "zsh" else "") + _bash(known), end="")
    return 0


Commands = dict[str, list[argparse.Action]]


def _commands(parser: argparse.ArgumentParser) -> Commands:
    """The options and arguments of each command; those of none under the empty name."""
    return {"": actions(parser), **{name: actions(one) for name, one in subcommands(parser).items()}}


def _bash(known: Commands) -> str:
    values, options = [], []
    for command, taken in known.items():
        for action in taken:
            if action.choices and action.option_strings:
                places = "|".join(f'"{command} {option}"' for option in action.option_strings)
                values.append(f'        {places}) words="{" ".join(map(str, action.choices))}" ;;')
        words = [*_words(command, taken, known), *(o for action in taken for o in action.option_strings)]
        options.append(f'            "{command}") words="{" ".join(words)}" ;;')
    return BASH.format(values="\n".join(values), options="\n".join(options))


def _words(command: str, taken: list[argparse.Action], known: Commands) -> list[str]:
    """What stands for itself: commands, rules, shells."""
    if not command:
        return [name for name in known if name]
    if command == "rule":
        return sorted(rule_titles())
    return [str(one) for action in taken if not action.option_strings for one in action.choices or ()]


def _fish(known: Commands) -> Iterator[str]:
    for command, taken in known.items():
        where = f"__fish_seen_subcommand_from {command}" if command else "__fish_use_subcommand"
        for word in _words(command, taken, known):
            yield f"complete -c jaxmigrate -f -n '{where}' -a {word}"
        for action in taken:
            names = " ".join(
                f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
                for option in action.option_strings
            )
            if not names:
                continue
            choices = f" -x -a '{' '.join(map(str, action.choices))}'" if action.choices else ""
            takes = "" if choices or action.nargs == 0 else " -r"
            text = (action.help or "").partition(" (default")[0].replace("'", "")
            yield f"complete -c jaxmigrate -n '{where}' {names}{choices}{takes} -d '{text}'"
