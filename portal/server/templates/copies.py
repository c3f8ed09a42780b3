"""Copies of templates, which the launcher's cards open, and templates as they came."""

import json
import os.path
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from dsportal.slurm.errors import OptionsError
from portal.server.templates.safe_folder import enter, read_below
from portal.server.templates.source import TemplateSource
from portal.server.templates.templates import (
    FOLDER_NAME,
    MOST_TEMPLATE_BYTES,
    Installation,
    Outcome,
    reason_of,
)

COPIES_FOLDER_NAME = "work"
# Where the site's storage has that name, whose link is in the home.
_OTHER_FOLDER_NAME = "my-work"
# Modules for several notebooks, as in `sys.path.append("../shared")`.
_SHARED = "shared"
# [text](target) with a target that is relative to the notebook.
_LINK = re.compile(r"\]\((?P<target>(?![a-z][a-z0-9+.-]*:|[/#])[^)\s]+\.(?:ipynb|md))(?=[#)])")


def copies_folder_name(storage: Container[str]) -> str:
    """Return the name of the folder of copies beside links to the shared storage."""
    return _OTHER_FOLDER_NAME if COPIES_FOLDER_NAME in storage else COPIES_FOLDER_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A copy of a template, as paths from the home.

    Attributes:
        beside: New release that was saved next to a copy that the user edited, or "".
    """

    path: str
    beside: str = ""


def find_template(sources: Iterable[TemplateSource], name: str) -> tuple[TemplateSource, bytes]:
    """Return the source of the template of this name, and the site's release.

    Args:
        name: Path below the templates folder, as a request has it.
    """
    path = PurePosixPath(name)
    # The name comes from a request and must stay below the sources.
    if not path.is_absolute() and ".." not in path.parts:
        for source in sources:
            if not path.is_relative_to(source.below):
                continue
            original = path.relative_to(source.below)
            try:
                content = read_below(source.path, original, MOST_TEMPLATE_BYTES)
            except OSError:
                continue
            if content is not None:
                return source, content
    raise OptionsError(
        f"{FOLDER_NAME}/{name[:200]} is no template of this site. Choose a file that came with it."
    )


def copy_template(
    sources: Iterable[TemplateSource],
    home: Path,
    name: str,
    kernelspec: Mapping[str, Any] | None = None,
    folder_name: str = COPIES_FOLDER_NAME,
) -> Copy:
    """Copy a template to the user's folder of copies, with the files that it reads.

    What the user edited stays; what not gets the new release, as in `install_templates`.

    Args:
        home: Where the folder of copies is, or is made.
        kernelspec: Kernel that a new copy names, as in a notebook's metadata.
    """
    source, content = find_template(sources, name)
    path = PurePosixPath(name)
    outcome = Outcome()
    installation = Installation(home, outcome, _Files(source, path).takes)
    copies, below = home / folder_name, PurePosixPath(source.below)
    try:
        # It may be a link to larger storage, which the user has made.
        copies.mkdir(exist_ok=True)
        among = enter(copies, below.parts)
        installation.install_folder(source.path, among, PurePosixPath(folder_name, below))
        notebook, target = _adapted(content, path, kernelspec), enter(copies, path.parent.parts)
        installation.install_file(notebook, target, PurePosixPath(folder_name, path))
        installation.save()
    except OSError as error:
        raise OptionsError(
            f"{FOLDER_NAME}/{name} could not be copied to {folder_name} ({reason_of(error)}). "
            "Make room, or rename what is in the way, then try again."
        ) from error
    # A new release of the notebook alone: one of a module is seen beside it.
    stem = f"{folder_name}/{path.with_suffix('')}.new"
    beside = next((each for each in outcome.beside if each.startswith(stem)), "")
    return Copy(path=f"{folder_name}/{path}", beside=beside)


def restore_template(sources: Iterable[TemplateSource], home: Path, name: str) -> str:
    """Put the site's release of a template in place, and keep the user's edited file next to it.

    The template is named by its path below the templates folder.

    Returns:
        Path, from the home, of the edited file, or "" if it was not edited.
    """
    _, content = find_template(sources, name)
    path = PurePosixPath(FOLDER_NAME, name)
    installation = Installation(home, Outcome())
    try:
        kept = installation.restore_file(content, enter(home, path.parent.parts), path)
        installation.save()
    except OSError as error:
        raise OptionsError(
            f"{path} could not be restored ({reason_of(error)}). "
            "Make room, or rename what is in the way, then try again."
        ) from error
    return str(path.with_name(kept)) if kept else ""


class _Files:
    """The files that a notebook may read: those of its folder, and modules for all notebooks."""

    def __init__(self, source: TemplateSource, notebook: PurePosixPath) -> None:
        top = PurePosixPath(source.below)
        is_at_our_top = not source.below and notebook.parent == top
        own = [] if is_at_our_top else [notebook.parent]
        self._folders = [*own, top / _SHARED]

    def takes(self, copied: PurePosixPath) -> bool:
        """Return whether a file is copied along, or what is in a folder is looked at."""
        path = PurePosixPath(*copied.parts[1:])
        is_within = any(path.is_relative_to(folder) for folder in self._folders)
        is_above = any(folder.is_relative_to(path) for folder in self._folders)
        return is_above or (is_within and path.suffix not in {".ipynb", ".md"})


def _adapted(content: bytes, path: PurePosixPath, kernelspec: Mapping[str, Any] | None) -> bytes:
    """Return the notebook with the kernel that runs it here, and with links to the templates."""
    try:
        notebook = json.loads(content)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                text = "".join(cell["source"])
                linked = _LINK.sub(lambda found: f"]({_target(found['target'], path)}", text)
                cell["source"] = linked.splitlines(keepends=True)
        if kernelspec is not None:
            notebook["metadata"]["kernelspec"] = dict(kernelspec)
    # A script, or a notebook that Jupyter will complain of.
    except (ValueError, TypeError, KeyError, RecursionError):
        return content
    return (json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _target(target: str, path: PurePosixPath) -> str:
    template = PurePosixPath(FOLDER_NAME) / path.parent / target
    return os.path.relpath(template, PurePosixPath(COPIES_FOLDER_NAME) / path.parent)
