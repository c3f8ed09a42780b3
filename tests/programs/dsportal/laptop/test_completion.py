"""What bash completes with the script that the command prints."""

import subprocess

import pytest

from dsportal.laptop import cli, completion
from portal.cli import build_user_parser

ASK = """
eval "$1"
COMP_WORDS=(dsportal "${@:2}") COMP_CWORD=$(($# - 1))
_dsportal
echo "${COMPREPLY[@]}"
"""


def complete(script: str, *words: str) -> list[str]:
    """Return what may stand in place of the last of these words."""
    argv = ["bash", "--norc", "-c", ASK, "bash", script, *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("st",), ["start", "stop"]),
        (("start", "--gp"), ["--gpus"]),
        (("start", "--gpus", "2", "--ho"), ["--hours"]),
        (("job", "n"), ["new"]),
        (("--name", "first", "logs", "--f"), ["--follow"]),
    ],
)
def test_verbs_and_their_options_are_completed(words: tuple[str, ...], expected: list[str]) -> None:
    script = completion.completion(cli.build_parser())

    assert complete(script, *words) == expected


def test_commands_of_sessions_are_completed_below_their_groups() -> None:
    script = completion.completion(build_user_parser())

    assert complete(script, "environments", "ne") == ["new"]
