"""The portal in the foreground: up, stay, down."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.one_machine import cli

CHECKOUT = Path(__file__).parents[4]
PROGRAM = """
import signal
from deploy.one_machine.cli import stay

def up():
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    print("up", end="")
    return 0

raise SystemExit(stay(up, lambda: print("down") or 0))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stays_until_it_is_told_to_stop_and_then_stops_the_portal(number):
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=CHECKOUT, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        # Nothing more comes before the signal: what was printed last is not kept in a buffer.
        assert process.stdout.read(2) == b"up"
        os.kill(process.pid, number)
        rest, _ = process.communicate(timeout=30)

    assert rest.split() == [b"Stopping", b"...", b"down"]
    assert process.returncode == 0


@pytest.mark.parametrize(("up", "down", "expected"), [(1, 0, 1), (130, 0, 130), (1, 2, 2)])
def test_what_could_not_be_set_up_is_stopped_at_once_and_is_a_failure(up, down, expected):
    assert cli.stay(lambda: up, lambda: down) == expected


def test_a_part_alone_does_not_stay(capsys):
    with pytest.raises(SystemExit):
        cli.up(["--foreground", "--only", "hub"])

    assert "cannot be limited by --only" in capsys.readouterr().err
