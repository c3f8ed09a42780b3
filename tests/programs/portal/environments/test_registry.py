"""The registry of virtual environments that are there, and while several commands change it."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from portal.cli import main
from portal.environments.entry import Kind
from portal.environments.registry import (
    OWN_PATH,
    read_registry,
    read_tables,
)

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


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = {"environments": {"registry": str(tmp_path / "site.toml")}}
    monkeypatch.setenv("PORTAL_SETTINGS", json.dumps(settings))
    return tmp_path


@pytest.fixture
def works(home: Path) -> Path:
    """A virtual environment with a made-up kernel."""
    subprocess.run(["python3", "-m", "venv", "--without-pip", home / "v"], check=True)
    (module_dir,) = (home / "v/lib").glob("python3*")
    (module_dir / "site-packages/ipykernel.py").touch()
    metadata = module_dir / "site-packages/keras-3.9.1.dist-info/METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Name: keras\nVersion: 3.9.1\n")
    return home / "v"


def test_the_command_adds_lists_and_checks(
    home: Path, works: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["environments", "add", "mine", "--virtualenv", str(works)]) == 0
    assert "mine: works on this machine." in capsys.readouterr().out
    assert 'packages = ["keras==3.9.1"]' in (home / OWN_PATH).read_text()
    gone = ["environments", "add", "gone", "--virtualenv", "/gone", "--site", "--untried"]
    assert main(gone) == 0
    assert main(["environments", "list"]) == 0
    listed = capsys.readouterr().out
    assert re.search(
        rf"^own  mine                 virtualenv   {works}  [0-9.]+ MiB$", listed, re.M
    )
    assert "site gone" in listed
    assert main(["environments", "check"]) == 1
    assert "gone: /gone/bin/python3 does not exist" in capsys.readouterr().out
    assert main(["environments", "check", "mine"]) == 0
    assert main(["environments", "check", "absent"]) == 1
    assert "There is no environment 'absent'. There are: gone, mine." in capsys.readouterr().err


def test_a_conda_environment_is_added_with_its_packages(home: Path, works: Path) -> None:
    assert main(["environments", "add", "mine", "--conda", str(works)]) == 0

    (added,) = read_registry(home / "site.toml", home).environments
    assert (added.kind, added.packages) == (Kind.CONDA, ("keras==3.9.1",))


def test_what_somebody_else_made_is_forgotten_but_not_deleted(
    home: Path, works: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["environments", "add", "mine", "--virtualenv", str(works)]) == 0

    assert main(["environments", "remove", "mine", "--yes"]) == 0

    assert f"Removed mine. {works} was kept." in capsys.readouterr().out
    assert works.exists()
    assert read_registry(home / "site.toml", home).environments == ()
