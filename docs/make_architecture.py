"""Draw the rooms of the code and who imports whom into docs/develop/architecture.md.

Run it from the root of the repository after a change of imports:

    python docs/make_architecture.py
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from tests.support.source_code import statements, tree_of  # noqa: E402

PAGE = CHECKOUT / "docs/develop/architecture.md"
LIBRARY = "portal/dsportal/dsportal"
PARTS = ("spawner", "portal/hub", "portal/server", LIBRARY, "portal/site")
_BLOCK = "<!-- made by docs/make_architecture.py: {part} -->\n{text}\n<!-- end -->"
_BLOCKS = re.compile(r"<!-- made by docs/make_architecture\.py: (\S+) -->\n.*?\n<!-- end -->", re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A sub-package, as its `__init__` describes it."""

    name: str
    summary: str
    below: tuple[str, ...]


def read_rooms(part: str) -> list[Room]:
    """Read the rooms of a part of the code, the lowest first."""
    folders = {path.parent.name: path.parent for path in (CHECKOUT / part).glob("*/__init__.py")}
    # Of `dsportal`, a project of its own, the package is the last folder.
    home = (CHECKOUT / part).parent if part == LIBRARY else CHECKOUT
    package = ".".join((CHECKOUT / part).relative_to(home).parts)
    below: dict[str, set[str]] = defaultdict(set)
    for name, folder in folders.items():
        for path in folder.rglob("*.py"):
            here = ".".join(path.relative_to(home).parent.parts)
            for module in _imported(tree_of(path), here):
                room = module.removeprefix(f"{package}.").partition(".")[0]
                if module.startswith(f"{package}.") and room in folders and room != name:
                    below[name].add(room)
    rooms: list[Room] = []
    while len(rooms) < len(folders):
        done = {room.name for room in rooms}
        ready = sorted(name for name in folders.keys() - done if below[name] <= done)
        if not ready:
            raise ValueError(f"rooms of {part} import each other: {sorted(folders.keys() - done)}")
        rooms += [_room(folders[name], below[name]) for name in ready]
    return rooms


def draw(rooms: list[Room]) -> str:
    """Return a drawing and a table of rooms.

    Returns:
        Markdown; the drawing is Mermaid's text. An arrow goes from a room to one that it imports,
        and is left out if a longer way leads there.
    """
    reach: dict[str, set[str]] = {}
    for room in rooms:
        reach[room.name] = set(room.below).union(*(reach[name] for name in room.below))
    arrows = [
        f"    {room.name} --> {name}"
        for room in rooms
        for name in room.below
        if not any(name in reach[other] for other in room.below)
    ]
    alone = [
        f"    {room.name}" for room in rooms if not any(room.name in a.split() for a in arrows)
    ]
    rows = [f"| {room.name} | {room.summary} |" for room in rooms]
    return "\n".join([
        *("```mermaid", "flowchart TB", *arrows, *alone, "```", ""),
        *("| room | what belongs there |", "|---|---|", *rows),
    ])  # fmt: skip


def render(page: str) -> str:
    """Return the page with its drawings made again."""

    def block(match: re.Match[str]) -> str:
        part = match[1]
        return _BLOCK.format(part=part, text=draw(read_rooms(part)))

    return _BLOCKS.sub(block, page)


def _room(folder: Path, below: set[str]) -> Room:
    docstring = ast.get_docstring(tree_of(folder / "__init__.py"))
    summary = (docstring or "").partition("\n\n")[0].replace("\n", " ")
    return Room(name=folder.name, summary=summary, below=tuple(sorted(below)))


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    for node in statements(tree, without_types=True):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            above = parents[: len(parents) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
