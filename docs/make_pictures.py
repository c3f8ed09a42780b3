"""Take the pictures of docs/images from the portal that runs on this machine.

Install the font Inter (Debian: fonts-inter), start a new demo with two types of GPUs, then run this
from the root of the repository with the tests' own Python, as root, since it submits jobs as the
demo users and changes Slurm's limits:

    deploy/down --purge --keep-environments
    deploy/up --simulated-types a100,v100
    /opt/data-scientist-portal/environments/test/bin/python docs/make_pictures.py [SCENE...]

Without a name it takes all scenes; three trainings are among them. Nobody else may use the portal
meanwhile: it stops the sessions of the demo users.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "portal/dsportal"))

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import sync_playwright

from docs.pictures.scenes import GPU_TYPES, SCENES
from docs.pictures.studio import USER, Studio
from tests.browser.conftest import CHROMIUM, CHROMIUM_FLAGS

# What the portal itself and the trainings of the scenes put there.
EXPECTED_IN_HOME = {"isilon", "templates", "portal-runs", "work"}
FONTS = Path(__file__).resolve().parent / "pictures" / "fonts.conf"


def main(names: Sequence[str]) -> int:
    """Take scenes."""
    unknown = set(names) - set(SCENES)
    if unknown or os.geteuid() != 0:
        print(f"Run as root, with some of: {', '.join(SCENES)}.", file=sys.stderr)
        return 2
    if problem := find_problem():
        print(problem, file=sys.stderr)
        return 2
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=CHROMIUM_FLAGS,
            env={**os.environ, "FONTCONFIG_FILE": str(FONTS)},
        )
        studio = Studio(browser)
        studio.stop()
        for name in names or SCENES:
            # JupyterLab would open with what the scene before left open.
            shutil.rmtree(home() / ".jupyter/lab/workspaces", ignore_errors=True)
            SCENES[name](studio)
        browser.close()
    return 0


def find_problem() -> str:
    """Return what this machine lacks for the pictures, with the next step; empty if nothing."""
    if not output("fc-list", "Inter"):
        return "The font Inter is not installed: apt-get install fonts-inter"
    if strangers := sorted({path.name for path in visible(home())} - EXPECTED_IN_HOME):
        return f"{home()} has files that readers should not see, such as {strangers[0]}."
    types = output("sinfo", "--noheader", "--format=%G")
    if not all(f"gpu:{name}:" in types for name in GPU_TYPES):
        return f"Start the demo with: deploy/up --simulated-types {','.join(GPU_TYPES)}"
    return ""


def home() -> Path:
    """Return the home of the demo user."""
    return Path(f"~{USER}").expanduser()


def visible(folder: Path) -> list[Path]:
    """Return what a file browser shows of a folder, which need not exist yet."""
    return [path for path in folder.glob("*") if not path.name.startswith(".")]


def output(*argv: str) -> str:
    """Return what a program prints."""
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=30).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
