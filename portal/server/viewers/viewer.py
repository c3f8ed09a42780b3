"""The programs that show folders in the browser: what they are called, and which they are."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """A program that shows folders in the browser.

    Attributes:
        program: Run with the Python of its environment; it keeps to what `tensorboard.process` says
            about its input and its output.
        route: URL path of its pages below the notebook server, without slashes at the ends.
        contents: What the folders hold, in sentences for users.
        has_private_network: Whether nobody else shall reach the ports that it opens.
    """

    title: str
    program: Path
    route: str
    contents: str
    has_private_network: bool = False


TENSORBOARD = Viewer(
    title="TensorBoard",
    program=Path(__file__).parent / "tensorboard/process",
    route="portal/tensorboards",
    contents="logs",
    has_private_network=True,
)
