"""The folder that stands in for the site's shared storage."""

import contextlib
import shutil

from deploy.common.files import ensure_file, ensure_folder, read_plain
from deploy.one_machine.layout import ISILON_DIR, MARK
from deploy.one_machine.users import GROUP

PROJECTS_DIR = ISILON_DIR / "projects"
# In the folder itself, which outlives the state of the portal when the environments are kept.
MADE_HERE = ISILON_DIR / ".made-by-deploy-up"
# Everybody of the group makes folders; only their owner removes them.
SHARED_MODE = 0o3770


def ensure_storage() -> str:
    """Create the folder if it is missing."""
    if ISILON_DIR.exists():
        return "unchanged"
    ensure_folder(ISILON_DIR)
    ensure_file(MADE_HERE, f"{MARK}\n")
    return f"{ISILON_DIR} made"


def ensure_projects() -> str:
    """Create the folder that all demo users share; their group must exist."""
    if PROJECTS_DIR.exists():
        return "unchanged"
    ensure_folder(PROJECTS_DIR, mode=SHARED_MODE, group=GROUP)
    return f"{PROJECTS_DIR} made"


def remove_storage() -> None:
    """Remove the folder if it was made here, else only an empty projects folder."""
    if MARK in (read_plain(MADE_HERE) or ""):
        shutil.rmtree(ISILON_DIR, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            PROJECTS_DIR.rmdir()
