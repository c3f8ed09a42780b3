"""Copies notebook templates to the home and updates them, never over the user's edits."""

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from portal.server.templates.safe_folder import Folder, NotPlainError, open_below, open_folder
from portal.server.templates.versions import Release, read_releases, write_releases

FOLDER_NAME = "templates"
# Users may fill a site's folder; the copy must end, and fit into a home.
MOST_TEMPLATE_BYTES = 64 * 1024 * 1024
NOT_TEMPLATES = ("__init__.py", "goals.toml", "tested.json")


@dataclass(slots=True)
class Outcome:
    """The result of one installation, as paths from the home.

    Attributes:
        written: New templates, and unedited ones that got a new release.
        beside: New releases written next to a template that the user edited.
        problems: Sentences about what could not be done.
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
        with (
            open_folder(source_dir) as source,
            open_below(home, place.parts, makes=True) as target,
        ):
            installation.install_folder(source, target, place)
    except (OSError, NotPlainError) as error:
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

    def install_folder(self, source: Folder, target: Folder, path: PurePosixPath) -> None:
        """Install a folder of the site's into one of the home's, whose path is `path`."""
        for entry in source.names():
            # Only at the top: in a folder of the site's, these names may well be templates.
            is_ours = len(path.parts) == 1 and entry in NOT_TEMPLATES
            if is_ours or entry.startswith(".") or entry == "__pycache__":
                continue
            name = path / entry
            if not self._takes(name):
                continue
            try:
                if source.is_folder(entry):
                    with source.enter(entry, makes=False) as inner, target.enter(entry) as folder:
                        self.install_folder(inner, folder, name)
                elif (content := self._read(source, name)) is not None:
                    self.install_file(content, target, name)
            except NotPlainError as error:
                self._outcome.problems.append(
                    f"{name} was left as it is: {error}. "
                    "Rename it to get the template in the next session."
                )

    def _read(self, source: Folder, name: PurePosixPath) -> bytes | None:
        try:
            return source.read(name.name, MOST_TEMPLATE_BYTES)
        except NotPlainError as error:
            # Otherwise whoever fills a site's folder could make users copy their own secret files.
            self._outcome.problems.append(
                f"The site's template {PurePosixPath(*name.parts[1:])} was not copied: {error}. "
                "Tell the administrators."
            )
            return None

    def install_file(self, content: bytes, target: Folder, name: PurePosixPath) -> None:
        """Install one file; `name` is its path, `target` its folder."""
        new, release = digest(content), self._releases.get(str(name), Release())
        present = target.read(name.name)
        known = None if present is None else digest(present)
        if known in {None, new, release.written}:
            # If it says the same already, only the record is missing; its outputs stay.
            if known != new:
                target.write(name.name, content)
                self._outcome.written.append(str(name))
            self._releases[str(name)] = Release(written=new)
        # Edited by the user: the new release goes next to it, once.
        elif new not in {release.written, release.beside}:
            beside = free_name(target, name, "new", release.beside)
            target.write(beside, content)
            self._outcome.beside.append(str(name.with_name(beside)))
            self._releases[str(name)] = Release(written=release.written, beside=new)

    def restore_file(self, content: bytes, target: Folder, name: PurePosixPath) -> str:
        """Replace a file, and return the name beside it that keeps the user's edits, or ""."""
        present, kept = target.read(name.name), ""
        release = self._releases.get(str(name), Release())
        # Neither this release nor the last one that was written: the user edited it.
        if present is not None and digest(present) not in {digest(content), release.written}:
            kept = free_name(target, name, "edited")
            target.write(kept, present)
        target.write(name.name, content)
        self._releases[str(name)] = Release(written=digest(content))
        return kept


def free_name(target: Folder, name: PurePosixPath, ending: str, ours: str = "") -> str:
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


def _is_free(target: Folder, name: str, last_beside: str) -> bool:
    try:
        present = target.read(name)
    except NotPlainError:
        return False
    return present is None or last_beside == digest(present)


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
