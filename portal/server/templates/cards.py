"""Template cards of the launcher: title, framework, tests, and what is missing here."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

from portal.environments.probe import probe_node
from portal.server.templates.kernels import (
    Match,
    OfferedKernel,
    match_kernel,
    read_needs,
)
from portal.server.templates.safe_folder import read_below
from portal.server.templates.source import TemplateSource
from portal.server.templates.templates import FOLDER_NAME, MOST_TEMPLATE_BYTES

_FRAMEWORKS = {
    "": "",
    "tensorflow": "TensorFlow",
    "pytorch": "PyTorch",
    "mxnet": "MXNet",
    "onnx": "ONNX",
    "r": "R",
}
_GOALS = PurePosixPath("goals.toml")
# Needs a program that starts images, which no package contains.
_OF_IMAGES = "containers"
_NO_IMAGES = Match(
    lacks="Apptainer",
    advice="This node has neither apptainer nor singularity, which start images. Ask your "
    "administrators for one of them.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateCard:
    """A template in the launcher.

    Attributes:
        name: Path below the templates folder.
        title: Its first heading, else its file's name.
        framework: Display name of its folder; "" for none.
        goal: What a user wants who opens it, in a few words.
        tested: Date of its last test run, year-month-day, or "".
        written_for: Name of the kernel in its metadata, or "".
        kernel: Name of the kernel that runs it here, or "" if none does.
    """

    name: str
    title: str
    framework: str
    goal: str
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
    """Return a card for each notebook, in the order of the goals of its source.

    A notebook that is optional, since few sites have its kernel, has a card only where it runs.

    Args:
        sources: Folders of templates; an absent one has none.
        kernels: The session's kernels, preferred ones first; None if they are not known.

    Returns:
        Those that cannot run here come last, and their title says what is missing.
    """
    cards = [card for source in sources for card in _make_cards(source, kernels)]
    return sorted(cards, key=lambda card: bool(card.advice))


def _make_cards(
    source: TemplateSource, kernels: Mapping[str, OfferedKernel] | None
) -> Iterable[TemplateCard]:
    tested = _read_json(source, PurePosixPath("tested.json"))
    goals = read_goals(source)
    found = sorted((*source.path.glob("*/*.ipynb"), *source.path.glob("*.ipynb")))
    relatives = [path.relative_to(source.path).as_posix() for path in found]
    listed = [name for name in goals if name in relatives]
    for name in [*listed, *(name for name in relatives if name not in goals)]:
        relative = PurePosixPath(name)
        folder = relative.parts[0] if len(relative.parts) > 1 else source.below
        run = tested.get(name, {})
        notebook = _read_json(source, relative)
        needs = read_needs(notebook)
        match = Match(kernel=needs.kernel) if kernels is None else match_kernel(needs, kernels)
        if not match.kernel and needs.is_optional:
            continue
        if folder == _OF_IMAGES and not match.lacks and probe_node().container is None:
            match = _NO_IMAGES
        framework = _FRAMEWORKS.get(folder, folder.replace("_", " ").capitalize())
        yield TemplateCard(
            name=(PurePosixPath(source.below) / relative).as_posix(),
            title=_title(notebook, relative) + (f" (needs {match.lacks})" if match.lacks else ""),
            framework=framework,
            goal=goals.get(name, source.below or framework),
            tested=str(run.get("date", "")),
            versions={str(k): str(v) for k, v in run.get("versions", {}).items()},
            written_for=needs.kernel,
            kernel=match.kernel,
            advice=match.advice,
        )


def read_goals(source: TemplateSource) -> dict[str, str]:
    """Return the goals of the templates by their paths, in the order of `goals.toml`.

    A template that it does not name comes after all others.
    """
    try:
        content = read_below(source.path, _GOALS, MOST_TEMPLATE_BYTES) or b""
        goals = tomllib.loads(content.decode())["goal"]
        return {str(name): str(goal["title"]) for goal in goals for name in goal["templates"]}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _title(notebook: Mapping[str, Any], path: PurePosixPath) -> str:
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
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
