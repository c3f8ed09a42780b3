"""Template cards of the launcher: title, framework, tests, and what is missing here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from portal.environments.entry import RARE_KERNELS
from portal.environments.probe import probe_node
from portal.server.errors import TemplateError
from portal.server.home.safe_folder import NotPlainError, open_folder, read_below
from portal.server.home.template_kernels import (
    Match,
    Needs,
    OfferedKernel,
    match_kernel,
    read_needs,
)
from portal.server.home.template_source import TemplateSource
from portal.server.home.template_versions import Release, read_releases, write_releases
from portal.server.home.templates import FOLDER_NAME, MOST_TEMPLATE_BYTES, digest, free_name

# Templates in no folder are those to begin with.
_FIRST = "First"
_FRAMEWORKS = {
    "": _FIRST,
    "tensorflow": "TensorFlow",
    "pytorch": "PyTorch",
    "mxnet": "MXNet",
    "onnx": "ONNX",
    "r": "R",
}
# Need what a site has to add, as those for rare kernels do: shown if they run, else hidden.
_RARE_FOLDERS = frozenset({"containers", "horovod"})
# Needs a program that starts images, which no package contains.
_OF_IMAGES = "containers"


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateCard:
    """A template in the launcher.

    Attributes:
        name: Path below the templates folder.
        title: Its first heading, else its file's name.
        framework: Display name of its folder.
        tested: Date of its last test run, year-month-day, or "".
        versions: Package versions of that run.
        written_for: Name of the kernel in its metadata, or "".
        kernel: Name of the kernel that runs it here, or "" if none does.
        advice: What to do if none does, or "".
    """

    name: str
    title: str
    framework: str
    tested: str
    versions: Mapping[str, str]
    written_for: str = ""
    kernel: str = ""
    advice: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the attributes as JSON values, and `path` from the user's home."""
        return asdict(self) | {"path": f"{FOLDER_NAME}/{self.name}"}


def list_cards(
    sources: Iterable[TemplateSource], kernels: Mapping[str, OfferedKernel] | None = None
) -> list[TemplateCard]:
    """Return a card for each notebook, sorted by framework and name, introductions first.

    Args:
        sources: Folders of templates; an absent one has none.
        kernels: The session's kernels, preferred ones first; None if they are not known.

    Returns:
        If no kernel has what a template needs, the title says what is missing; a template that few
        sites can run is then left out.
    """
    cards = [card for source in sources for card in _make_cards(source, kernels)]
    return sorted(cards, key=lambda card: (card.framework != _FIRST, card.framework, card.name))


def _make_cards(
    source: TemplateSource, kernels: Mapping[str, OfferedKernel] | None
) -> Iterable[TemplateCard]:
    tested = _read_json(source, PurePosixPath("tested.json"))
    for path in sorted(source.path.glob("*/*.ipynb")) + sorted(source.path.glob("*.ipynb")):
        relative = path.relative_to(source.path)
        folder = relative.parts[0] if len(relative.parts) > 1 else source.below
        run = tested.get(relative.as_posix(), {})
        notebook = _read_json(source, PurePosixPath(relative))
        needs = read_needs(notebook)
        match = Match(kernel=needs.kernel) if kernels is None else match_kernel(needs, kernels)
        if kernels is not None and not _is_offered(folder, needs, match):
            continue
        yield TemplateCard(
            name=(PurePosixPath(source.below) / relative).as_posix(),
            title=_title(notebook, path) + (f" (needs {match.lacks})" if match.lacks else ""),
            framework=_FRAMEWORKS.get(folder, folder.replace("_", " ").capitalize()),
            tested=str(run.get("date", "")),
            versions={str(k): str(v) for k, v in run.get("versions", {}).items()},
            written_for=needs.kernel,
            kernel=match.kernel,
            advice=match.advice,
        )


def _is_offered(folder: str, needs: Needs, match: Match) -> bool:
    is_rare = folder in _RARE_FOLDERS or needs.kernel in RARE_KERNELS
    if match.lacks and is_rare:
        return False
    return folder != _OF_IMAGES or probe_node().container is not None


def _title(notebook: Mapping[str, Any], path: Path) -> str:
    for cell in notebook.get("cells", []):
        if cell.get("cell_type") == "markdown":
            lines = "".join(cell.get("source", "")).splitlines()
            heading = next((line for line in lines if line.startswith("# ")), "")
            if heading:
                return heading.removeprefix("# ").strip()
    return path.stem


def _read_json(source: TemplateSource, path: PurePosixPath) -> dict[str, Any]:
    try:
        found = json.loads(read_below(source.path, path, MOST_TEMPLATE_BYTES) or b"")
    except (OSError, ValueError, NotPlainError):
        return {}
    return found if isinstance(found, dict) else {}


def restore_template(sources: Iterable[TemplateSource], home: Path, name: str) -> str:
    """Put the site's release of a template in place, and keep the user's edited file next to it.

    The template is named by its path below the templates folder.

    Returns:
        Path, from the home, of the edited file, or "" if it was not edited.

    Raises:
        TemplateError: If no source has it, or it cannot be written.
    """
    content = _original(sources, name)
    path = PurePosixPath(name)
    try:
        with open_folder(home) as folder:
            return _replace(folder, [FOLDER_NAME, *path.parent.parts], path, content, home)
    except (OSError, NotPlainError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TemplateError(
            f"{FOLDER_NAME}/{name} could not be restored ({reason}). "
            "Make room, or rename what is in the way, then try again."
        ) from error


def _original(sources: Iterable[TemplateSource], name: str) -> bytes:
    path = PurePosixPath(name)
    # The name comes from a request and must stay below the sources.
    if not path.is_absolute() and ".." not in path.parts:
        for source in sources:
            if not path.is_relative_to(source.below):
                continue
            original = path.relative_to(source.below)
            with suppress(OSError, NotPlainError):
                content = read_below(source.path, original, MOST_TEMPLATE_BYTES)
                if content is not None:
                    return content
    raise TemplateError(
        f"{FOLDER_NAME}/{name[:200]} is no template of this site. Choose a file that came with it."
    )


def _replace(folder: Any, parts: list[str], path: PurePosixPath, content: bytes, home: Path) -> str:
    if parts:
        with folder.enter(parts[0]) as inner:
            return _replace(inner, parts[1:], path, content, home)
    present, kept = folder.read(path.name), ""
    releases = read_releases(home)
    release = releases.get(str(path), Release())
    # Neither this release nor the last one that was written: the user edited it.
    if present is not None and digest(present) not in {digest(content), release.written}:
        kept = free_name(folder, path, "edited")
        folder.write(kept, present)
    folder.write(path.name, content)
    write_releases(home, releases | {str(path): Release(written=digest(content))})
    return f"{FOLDER_NAME}/{path.with_name(kept)}" if kept else ""
