"""The registry while several commands change it at the same time."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from portal.environments import registry
from portal.environments.errors import RegistryError
from portal.environments.registry import add_entry, read_tables, remove_entry

N_ENTRIES = 40
# Waits for a line, so that all begin together.
ADDS = """\
import sys
from pathlib import Path
from portal.environments.registry import add_entry, remove_entry
path, name, n_entries = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(n_entries):
    add_entry(path, f"{name}{number}", {"conda": "/c"}, is_own=True)
    if number % 2:
        remove_entry(path, f"{name}{number}")
"""


def test_commands_that_change_a_registry_at_the_same_time_lose_no_entry(tmp_path: Path) -> None:
    path = tmp_path / "environments.toml"
    with ExitStack() as stack:
        commands = [stack.enter_context(adding(path, name)) for name in "ab"]
        for command in commands:
            assert command.stdin is not None
            command.stdin.write("go\n")
            command.stdin.flush()
        statuses = [command.wait(timeout=60) for command in commands]

    assert statuses == [0, 0]
    kept = {f"{name}{number}" for name in "ab" for number in range(0, N_ENTRIES, 2)}
    assert set(read_tables(path)) == kept


def test_a_registry_that_stays_locked_is_told_and_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "environments.toml"
    add_entry(path, "old", {"conda": "/c"}, is_own=True)
    before = path.read_text()
    monkeypatch.setattr(registry, "_LOCK_TIMEOUT_S", 0.2)

    with (tmp_path / ".environments.toml.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for change in (
            lambda: add_entry(path, "new", {"conda": "/c"}, is_own=True),
            lambda: remove_entry(path, "old"),
        ):
            with pytest.raises(RegistryError, match=r"Another command has been changing .* again"):
                change()

    assert path.read_text() == before


@contextmanager
def adding(path: Path, name: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that will add entries to a registry, and remove each second one again."""
    argv = [sys.executable, "-c", ADDS, str(path), name, str(N_ENTRIES)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
