"""The program for laptops, as the hub serves it."""

import subprocess
import sys
from pathlib import Path

from portal.hub.pages.laptop_program import build_archive
from spawner import __version__


def test_it_runs_by_itself_and_says_in_words_what_is_missing(tmp_path: Path) -> None:
    done = run(tmp_path, "proxy", "gpu-session")

    assert done.returncode == 1
    assert done.stderr.startswith("dsportal: ")
    assert "settings.json is missing. Run: dsportal login" in done.stderr


def test_its_version_is_the_portals(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout == f"dsportal {__version__}\n"


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    archive = home / "dsportal.pyz"
    archive.write_bytes(build_archive())
    return subprocess.run(
        # Without this checkout and the packages of this environment.
        [sys.executable, "-IS", str(archive), *words],
        env={"HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_same_sources_make_the_same_file() -> None:
    build_archive.cache_clear()
    first = build_archive()
    build_archive.cache_clear()

    assert build_archive() == first
