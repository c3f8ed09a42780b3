"""What bash and zsh complete with the script that the command prints."""

import os
import pty
import select
import signal
import subprocess
from pathlib import Path

import pytest

from dsportal.laptop import cli, completion
from portal.cli import build_user_parser
from tests.needs import ensure_packages
from tests.support.eventually import eventually

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


def test_zsh_completes_at_its_prompt_what_bash_does(tmp_path: Path) -> None:
    ensure_packages("zsh")
    (tmp_path / ".zshrc").write_text("PS1='ready> '\nsource ./completion\n")
    (tmp_path / "completion").write_text(completion.completion(cli.build_parser()))
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        environment = {"HOME": str(tmp_path), "TERM": "dumb", "PATH": os.defpath}
        os.execve("/usr/bin/zsh", ["zsh", "-i"], environment)
    shown = bytearray()

    def reads(expected: bytes) -> bool:
        while select.select([terminal], [], [], 0.1)[0]:
            shown.extend(os.read(terminal, 4096))
        return expected in shown

    try:
        eventually(lambda: reads(b"ready> "), timeout_s=20)
        os.write(terminal, b"dsportal start --gp\t")
        eventually(lambda: reads(b"--gpus "), timeout_s=10)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
