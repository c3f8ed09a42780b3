"""The probe that says how full folders are, and the site's quota program, which it asks."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spawner.programs import storage
from spawner.space import parse_statfs

PROBE = Path(storage.__file__)
ASK_WHAT_HANGS = "print(repr(probe.run_probe(['/bin/sleep', '60'], timeout_s=0.2)), flush=True)"


def probe(folders: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-IS", str(PROBE)],
        input=json.dumps(folders),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def test_the_probe_tells_of_each_folder(tmp_path: Path) -> None:
    said = json.loads(probe([str(tmp_path), "/nowhere/at/all"]).stdout)

    assert parse_statfs(said[str(tmp_path)]["statfs"]) is not None
    assert said["/nowhere/at/all"] == {"statfs": "", "quota": "", "is_missing": True}


@pytest.mark.parametrize("folders", ["/", {"/": 1}, ["relative"], [1], ["/a\0b"], ["/"] * 9])
def test_the_probe_refuses_what_is_no_short_list_of_paths(folders: object) -> None:
    done = probe(folders)

    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_folder_whose_server_hangs_is_not_waited_for() -> None:
    load = "import sys; sys.path.insert(0, sys.argv[1]); import storage as probe"
    before_s = time.monotonic()

    # In a process of its own: what hangs is not cleared away.
    said = subprocess.run(
        [sys.executable, "-c", f"{load}\n{ASK_WHAT_HANGS}", str(PROBE.parent)],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    ).stdout

    assert said == "''\n"
    assert time.monotonic() - before_s < 10


@pytest.fixture
def quota_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def write(script: str) -> None:
        path = tmp_path / "quota"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(storage, "QUOTA_PROGRAM", str(path))

    return write


def test_the_sites_quota_program_is_asked_about_each_folder(
    quota_program: Callable[[str], None], tmp_path: Path
) -> None:
    quota_program(f'[ "$1" = {tmp_path} ] && echo 9000 10000')

    assert storage.look(str(tmp_path))["quota"] == "9000 10000"


def test_a_quota_program_that_fails_leaves_the_file_systems_own_numbers(
    quota_program: Callable[[str], None], tmp_path: Path
) -> None:
    quota_program("echo 1 2; exit 1")

    said = storage.look(str(tmp_path))

    assert said["quota"] == ""
    assert said["statfs"]
