"""Copies notebook templates to the home and updates them, never over the user's edits."""

import hashlib
import itertools
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import NoReturn

from dsportal.whole_file import write_whole
from portal.server.templates.safe_folder import NotPlainError, enter, read_plain

FOLDER_NAME = "templates"
# Of the release of each template that was written to the home.
RECORD_PATH = Path(".local/state/data-scientist-portal/templates.json")
# Users may fill a site's folder; the copy must end, and fit into a home.
MOST_TEMPLATE_BYTES = 64 * 1024 * 1024
NOT_TEMPLATES = ("__init__.py", "goals.toml", "tested.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The releases of one template in the home.

    Attributes:
        written: Digest of the release last written under the template's own name, or "".
        beside: Digest of the release last written next to an edited one, or "".
    """

    written: str = ""
    beside: str = ""


@dataclass(slots=True)
class Outcome:
    """The result of one installation, as paths from the home.

    Attributes:
        written: New templates, and unedited ones that got a new release.
        beside: New releases written next to a template that the user edited.
    """

    written: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def notes(self) -> Iterator[str]:
        """Yield log lines about what succeeded."""
        if self.written:
            yield f"Copied {len(self.written)} files to {FOLDER_NAME}."
        for name in self.beside:
            yield f"{name} is the new release of a template that you edited."


def install_templates(source_dir: Path, home: Path, below: str = "") -> Outcome:
    """Copy the site's templates to the user's home, as the user.

    An absent template is written: deleting one brings the original back in the next session. An
    unedited one, which may have been run, gets the new release. Next to an edited one the new
    release is written once, as `name.new.ipynb`. Links are not followed, neither the user's nor
    the site's. The copies go to the folder `below` in the templates folder, or to its top if that
    is "".

    Returns:
        What was done. A full or read-only home is a sentence in it, no exception.
    """
    outcome = Outcome()
    if not os.path.isdir(source_dir):
        outcome.problems.append(
            f"The site's templates, {source_dir}, are not on this node. Tell the administrators."
        )
        return outcome
    place = PurePosixPath(FOLDER_NAME, below)
    installation = Installation(home, outcome)
    try:
        installation.install_folder(source_dir, enter(home, place.parts), place)
    except OSError as error:
        outcome.problems.append(
            f"Templates could not all be copied to {home / FOLDER_NAME} ({reason_of(error)}). "
            "Make room, or rename what is in the way. The next session tries again."
        )
    try:
        installation.save()
    except OSError as error:
        outcome.problems.append(
            f"It could not be noted which templates were copied ({reason_of(error)}). "
            "New releases will be put beside all of them."
        )
    return outcome


class Installation:
    """Puts files of the site's into a home; paths are from the home.

    Args:
        outcome: Gets what is done.
        takes: Whether a file or folder of this path is installed.
    """

    def __init__(
        self,
        home: Path,
        outcome: Outcome,
        takes: Callable[[PurePosixPath], bool] = lambda _: True,
    ) -> None:
        self._home = home
        self._releases = read_releases(home)
        self._known = dict(self._releases)
        self._outcome = outcome
        self._takes = takes

    def save(self) -> None:
        """Note the releases that were written.

        Raises:
            OSError: If there is no room, or no permission.
        """
        if self._releases != self._known:
            write_releases(self._home, self._releases)

    def install_folder(self, source: Path, target: Path, path: PurePosixPath) -> None:
        """Install a folder of the site's into one of the home's, whose path is `path`.

        Source:
            `os.fwalk` enters no link, even if one takes the place of a folder meanwhile.
        """
        top = os.path.realpath(source)
        for found, folders, files, descriptor in os.fwalk(top, onerror=_fail):
            inner = PurePosixPath(found).relative_to(top)
            try:
                folder = enter(target, inner.parts)
            except NotPlainError as error:
                self._leave(path / inner, error)
                folders.clear()
                continue
            wanted = [one for one in sorted([*files, *folders]) if self._wants(path / inner / one)]
            # Links to folders are among them.
            folders[:] = [one for one in wanted if _is_folder(one, descriptor)]
            for name in (path / inner / one for one in wanted if one not in folders):
                content = self._read(name, descriptor)
                try:
                    if content is not None:
                        self.install_file(content, folder, name)
                except NotPlainError as error:
                    self._leave(name, error)

    def _wants(self, name: PurePosixPath) -> bool:
        # Only at the top: in a folder of the site's, these names may well be templates.
        is_ours = len(name.parts) == 2 and name.name in NOT_TEMPLATES
        is_hidden = name.name.startswith(".") or name.name == "__pycache__"
        return not is_ours and not is_hidden and self._takes(name)

    def _leave(self, name: PurePosixPath, error: NotPlainError) -> None:
        self._outcome.problems.append(
            f"{name} was left as it is: {error}. Rename it to get the template in the next session."
        )

    def _read(self, name: PurePosixPath, folder: int) -> bytes | None:
        try:
            return read_plain(name.name, MOST_TEMPLATE_BYTES, folder=folder)
        except NotPlainError as error:
            # Otherwise whoever fills a site's folder could make users copy their own secret files.
            self._outcome.problems.append(
                f"The site's template {PurePosixPath(*name.parts[1:])} was not copied: {error}. "
                "Tell the administrators."
            )
            return None

    def install_file(self, content: bytes, target: Path, name: PurePosixPath) -> None:
        """Install one file; `name` is its path, `target` its folder."""
        new, release = digest(content), self._releases.get(str(name), Release())
        present = read_plain(target / name.name)
        known = None if present is None else digest(present)
        if known in {None, new, release.written}:
            # If it says the same already, only the record is missing; its outputs stay.
            if known != new:
                _write(target / name.name, content)
                self._outcome.written.append(str(name))
            self._releases[str(name)] = Release(written=new)
        # Edited by the user: the new release goes next to it, once.
        elif new not in {release.written, release.beside}:
            beside = free_name(target, name, "new", release.beside)
            _write(target / beside, content)
            self._outcome.beside.append(str(name.with_name(beside)))
            self._releases[str(name)] = Release(written=release.written, beside=new)

    def restore_file(self, content: bytes, target: Path, name: PurePosixPath) -> str:
        """Replace a file, and return the name beside it that keeps the user's edits, or ""."""
        present, kept = read_plain(target / name.name), ""
        release = self._releases.get(str(name), Release())
        # Neither this release nor the last one that was written: the user edited it.
        if present is not None and digest(present) not in {digest(content), release.written}:
            kept = free_name(target, name, "edited")
            _write(target / kept, present)
        _write(target / name.name, content)
        self._releases[str(name)] = Release(written=digest(content))
        return kept


def read_releases(home: Path) -> dict[str, Release]:
    """Return the record: releases by path from the home.

    An absent or broken record is empty, so nothing is overwritten.
    """
    try:
        record = json.loads((home / RECORD_PATH).read_text(encoding="utf-8"))
        return {str(name): Release(**release) for name, release in record.items()}
    # Without a record each changed template counts as edited, so the user's files are safe.
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_releases(home: Path, releases: Mapping[str, Release]) -> None:
    """Replace the record atomically."""
    path = home / RECORD_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {name: asdict(release) for name, release in sorted(releases.items())}
    write_whole(path, json.dumps(record, indent=1).encode())


def free_name(target: Path, name: PurePosixPath, ending: str, ours: str = "") -> str:
    """Return a name next to a template that is free, or whose file may be replaced.

    Args:
        ending: Goes before the suffix, such as "new".
        ours: Digest of a file that may be replaced, or "".

    Returns:
        "digits.new.ipynb" for "digits.ipynb" and "new", or with a number if that is taken.
    """
    endings = itertools.chain([ending], (f"{ending}-{n}" for n in itertools.count(2)))
    candidates = (f"{name.stem}.{word}{name.suffix}" for word in endings)
    return next(c for c in candidates if _is_free(target, c, ours))


def _is_free(target: Path, name: str, last_beside: str) -> bool:
    try:
        present = read_plain(target / name)
    except NotPlainError:
        return False
    return present is None or last_beside == digest(present)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _fail(error: OSError) -> NoReturn:
    raise error


def _write(path: Path, content: bytes) -> None:
    write_whole(path, content, mode=0o644)


def reason_of(error: Exception) -> str:
    """Return why the system refused something, in its words."""
    return str(getattr(error, "strerror", None) or error)


def digest(content: bytes) -> str:
    """Return a SHA-256, in hexadecimal, of what a user edits.

    Of a notebook these are the sources of its cells: its outputs, counts and metadata change when
    it is run or just opened.
    """
    cells = _sources(content)
    return hashlib.sha256(content if cells is None else json.dumps(cells).encode()).hexdigest()


def _sources(content: bytes) -> list[list[str]] | None:
    try:
        notebook = json.loads(content)
        if not notebook["nbformat"]:
            return None
        return [[cell["cell_type"], "".join(cell["source"])] for cell in notebook["cells"]]
    # No notebook.
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
