"""What completes words of the command in bash and zsh, made from its parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

_SCRIPT = """\
# Completion of {prog} for bash and zsh: {prog} completion > FILE, and read FILE in ~/.bashrc or
# ~/.zshrc with the command source.
if [ -n "${{ZSH_VERSION-}}" ]; then
    autoload -U +X compinit && compinit
    autoload -U +X bashcompinit && bashcompinit
fi
_{prog}() {{
    [ -z "${{ZSH_VERSION-}}" ] || emulate -L ksh
    local word known="" words=""
    for word in "${{COMP_WORDS[@]:1:$((COMP_CWORD-1))}}"; do
        case "$known $word" in
            {paths}) known="$known $word" ;;
        esac
    done
    case "$known" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _{prog} {prog}
"""


def completion(parser: argparse.ArgumentParser) -> str:
    """Return a script for bash and zsh that completes commands, their options and their choices."""
    words = dict(_words(parser, ""))
    paths = "|".join(f'"{path}"' for path in words if path)
    cases = "\n".join(
        f'        "{path}") words="{" ".join(found)}" ;;' for path, found in words.items()
    )
    return _SCRIPT.format(prog=parser.prog, paths=paths, cases=cases)


def _words(parser: argparse.ArgumentParser, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the words that may follow each command, which begins with a blank."""
    found: list[str] = []
    for action in parser._actions:
        found += action.option_strings
        found += map(str, action.choices or ())
        # Of subcommands they are parsers by their names.
        choices = action.choices if isinstance(action.choices, dict) else {}
        for word, child in choices.items():
            if isinstance(child, argparse.ArgumentParser):
                yield from _words(child, f"{path} {word}")
    yield path, found
