"""Deletes the files of an environment that is removed, so that none stay without an entry."""

import contextlib
import os
import secrets
import shutil
import signal
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from portal.environments.registry import remove_entry

_SET_ASIDE = ".removed"


def remove_with_files(registry: Path, id_: str, files: Sequence[Path]) -> tuple[Path, ...]:
    """Remove an environment from a registry and delete its files.

    They are renamed first, so what is interrupted leaves either an environment that is whole, or
    files that the next removal in these folders deletes. A signal to end does not interrupt it.

    Returns:
        What could not be deleted yet.
    """
    with _without_interrupts():
        aside = {one: _set_aside(one) for one in files}
        try:
            remove_entry(registry, id_)
        except BaseException:
            for one, renamed in aside.items():
                renamed.replace(one)
            raise
        earlier = [left for folder in {one.parent for one in files} for left in _left_in(folder)]
        return tuple(one for one in {*aside.values(), *earlier} if not _is_deleted(one))


def _set_aside(path: Path) -> Path:
    renamed = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_SET_ASIDE}")
    try:
        path.replace(renamed)
    except OSError:
        # The folder is not the user's to change: the files are deleted where they are.
        return path
    return renamed


def _left_in(folder: Path) -> Iterable[Path]:
    return folder.glob(f".*{_SET_ASIDE}")


def _is_deleted(path: Path) -> bool:
    # On NFS a file that a kernel has open keeps its folder, until that kernel ends.
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return not os.path.exists(path)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = [(number, signal.signal(number, signal.SIG_IGN)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
