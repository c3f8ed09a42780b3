"""A copy of the checkout for tests that run as other users, who may not enter root's home."""

import contextlib
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

# Not below the portal's own folders: tests of its removal see them, too.
COPIES_DIR = Path("/opt/data-scientist-portal-tests")
# What a run writes: into the checkout itself, or copied back at its end.
LINKED = (".git", "tests/output")
COPIED_BACK = ("docs/benchmarks", "tests/second_tries.jsonl")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "node_modules", ".*_cache")
_PLAIN = re.compile(r"[\w./+-]+")


def is_readable_by_all(checkout: Path) -> bool:
    """Whether every user can read the checkout, and its path has no letter of a shell's."""
    if not _PLAIN.fullmatch(str(checkout)):
        return False
    if not all(folder.stat().st_mode & stat.S_IXOTH for folder in checkout.parents):
        return False
    return all(path.lstat().st_mode & stat.S_IROTH for path in _paths(checkout))


def _paths(checkout: Path) -> Iterator[Path]:
    linked = {str(checkout / name) for name in LINKED}
    for folder, folders, files in os.walk(checkout):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in linked]
        yield Path(folder)
        yield from (Path(folder, name) for name in files)


@contextlib.contextmanager
def readable_copy(checkout: Path, folder: Path = COPIES_DIR) -> Iterator[Path]:
    """Make a copy in `folder` that every user can read, and remove it in the end.

    What a run writes reaches the checkout. A copy that a killed run has left is replaced.
    """
    name = hashlib.sha256(str(checkout).encode()).hexdigest()[:8]
    copy = folder / f"checkout-{name}"
    shutil.rmtree(copy, ignore_errors=True)
    linked = {str(checkout / path) for path in LINKED}
    (checkout / "tests/output").mkdir(exist_ok=True)

    def left_out(folder: str, names: list[str]) -> set[str]:
        return {n for n in names if f"{folder}/{n}" in linked} | LEFT_OUT(folder, names)

    copy.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copytree(checkout, copy, symlinks=True, ignore=left_out)
        for path in _paths(copy):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | stat.S_IRGRP | stat.S_IROTH | _run_bits(path))
        for path in LINKED:
            (copy / path).symlink_to(checkout / path)
        yield copy
        for path in filter(Path.exists, map(copy.joinpath, COPIED_BACK)):
            target = checkout / path.relative_to(copy)
            if path.is_dir():
                shutil.copytree(path, target, dirs_exist_ok=True)
            else:
                shutil.copy2(path, target)
    finally:
        shutil.rmtree(copy, ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.rmdir()


def _run_bits(path: Path) -> int:
    runs = path.stat().st_mode & stat.S_IXUSR
    return stat.S_IXGRP | stat.S_IXOTH if runs else 0
