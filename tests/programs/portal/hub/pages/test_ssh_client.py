"""The program for laptops, as the hub serves it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from portal.hub.pages.ssh_client import build_archive


def test_it_runs_by_itself_and_says_in_words_what_is_missing(tmp_path: Path) -> None:
    archive = tmp_path / "dsportal-ssh.pyz"
    archive.write_bytes(build_archive())

    done = subprocess.run(
        # Without this checkout and the packages of this environment.
        [sys.executable, "-IS", str(archive), "proxy", "gpu-session"],
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith("dsportal-ssh: ")
    assert "settings.json is missing. Run: dsportal-ssh.pyz setup" in done.stderr


def test_the_same_sources_make_the_same_file() -> None:
    build_archive.cache_clear()
    first = build_archive()
    build_archive.cache_clear()

    assert build_archive() == first
