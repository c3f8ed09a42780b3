"""The programs that show folders in the browser: what they are called, and which they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """A program that shows folders in the browser.

    Attributes:
        title: Its name for users.
        program: Run with the Python of its environment; it keeps to what `process` says about its
            argument, its input and its output.
        route: URL path of its pages below the notebook server, without slashes at the ends.
        contents: What the folders hold, in sentences for users.
    """

    title: str
    program: Path
    route: str
    contents: str


TENSORBOARD = Viewer(
    title="TensorBoard",
    program=Path(__file__).parent / "tensorboard/process",
    route="portal/tensorboards",
    contents="logs",
)
