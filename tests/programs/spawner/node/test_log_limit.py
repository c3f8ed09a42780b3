"""The log of a session stays under its limit, and its last words are in it."""

import subprocess
import sys
from pathlib import Path

import pytest

from spawner.node.log_limit import LogFile
from tests.support.eventually import eventually

MOST_BYTES = 10_000
SESSION = f"""
import os, subprocess, sys
from spawner.node.log_limit import limit_log
WRITER = "import os\\nfor n in range(2000): os.write(1, b'line %d\\\\n' % n)"
print("before", flush=True)
limit_log({MOST_BYTES})
print("the server", flush=True)
writers = [
    subprocess.Popen([sys.executable, "-c", WRITER])
    for _ in range(2)
]
for writer in writers:
    writer.wait()
"""


def run(tmp_path: Path, code: str, mode: str) -> tuple[int, bytes]:
    path = tmp_path / "session.log"
    with path.open(mode) as file:
        done = subprocess.run([sys.executable, "-c", code], stdout=file, stderr=file, timeout=60)
    return done.returncode, path.read_bytes()


@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_all_that_a_session_starts_writes_into_the_same_bounded_log(
    tmp_path: Path, mode: str
) -> None:
    status, text = run(tmp_path, SESSION + "print('last', flush=True)", mode)

    assert status == 0
    assert len(text) <= MOST_BYTES
    note, *lines, last = text.decode().splitlines()
    assert note.endswith("bytes of this log were dropped: it is limited]")
    assert last == "last"
    # Of the one that printed last no line of the kept part is missing.
    numbers = [int(line.split()[1]) for line in lines if line.startswith("line ")]
    assert numbers[-1] == 1999
    assert len(numbers) > 300
    assert {*range(min(numbers[-100:]), 2000)} <= {*numbers}


def test_why_a_server_failed_is_in_the_log_when_it_has_ended(tmp_path: Path) -> None:
    status, text = run(tmp_path, SESSION + "raise RuntimeError('the reason')", "wb")

    assert status == 1
    assert text.decode().splitlines()[-1] == "RuntimeError: the reason"


def test_a_small_log_is_left_as_it_was_printed(tmp_path: Path) -> None:
    code = f"""
from spawner.node.log_limit import limit_log
limit_log({MOST_BYTES})
print("a")
print("b")
"""
    assert run(tmp_path, code, "wb") == (0, b"a\nb\n")


def test_the_keeper_outlives_the_signals_that_end_a_job(tmp_path: Path) -> None:
    code = f"""
import os, signal, subprocess, sys
from spawner.node.log_limit import limit_log
limit_log({MOST_BYTES})
subprocess.Popen([sys.executable, "-c", "import os; os.read(0, 1); print('told', flush=True)"],
    stdin=subprocess.PIPE, start_new_session=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.killpg(os.getpgrp(), signal.SIGTERM)
"""
    path = tmp_path / "session.log"
    with path.open("wb") as file:
        argv = [sys.executable, "-c", code]
        subprocess.run(argv, stdout=file, stderr=file, timeout=60, start_new_session=True)

    eventually(lambda: path.read_text() == "told\n", timeout_s=20)


@pytest.mark.parametrize("code", ["limit_log(0)", f"limit_log({MOST_BYTES})"])
def test_without_a_limit_or_a_file_nothing_changes(code: str) -> None:
    program = f"from spawner.node.log_limit import limit_log; {code}; print('printed')"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)

    assert (done.stdout, done.stderr) == (b"printed\n", b"")


def test_a_line_that_is_longer_than_the_log_is_cut_too(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        kept = LogFile(file.fileno(), 1000)
        for _ in range(50):
            kept.write(b"x" * 400)

    assert path.stat().st_size <= 1000
