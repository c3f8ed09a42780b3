"""Runs template notebooks as their users do, and keeps what they drew, took and handed out."""

import base64
import json
import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tests.support.kernels import Server, ask, connect, published
from tests.support.websockets import close_websocket
from tests.templates import tested
from tests.templates.conftest import ENVIRONMENTS, SlurmSession

TEMPLATES = Path("/opt/data-scientist-portal/templates")
OUTPUT_DIR = Path(__file__).resolve().parents[1] / "output" / "templates"
HANGS_AFTER_S = 900
OUTPUTS = {"stream", "display_data", "execute_result", "error"}
# Sentences of the notebooks, and the figure that each contains.
_NUMBER = r"(-?\d+(?:\.\d+)?)"
FIGURES = {
    "accuracy": rf"^Test accuracy: {_NUMBER}\b",
    "container_vs_bare_percent": rf"^In the image {_NUMBER} % more images/s",
    "int8_accuracy_drop_percent": rf"^INT8 loses {_NUMBER} points",
    "int8_vs_fp32": rf"^INT8 answers {_NUMBER} times as fast",
    "tfrecord_vs_jpeg_local": rf"^local disk: {_NUMBER} times",
    "tfrecord_vs_jpeg_3ms": rf"^3 ms for each open: {_NUMBER} times",
    "tfrecord_vs_tuned_jpeg_local": rf"^local disk: [\d.]+ times as fast .* and {_NUMBER} times",
    "tfrecord_vs_tuned_jpeg_3ms": (
        rf"^3 ms for each open: [\d.]+ times as fast .* and {_NUMBER} times"
    ),
}
# What a notebook on several GPUs says about them.
SPEEDUP = r"^1 GPU: [\d,]+ images/s; 2 GPUs: [\d,]+ images/s, [\d.]+ times as fast\.$"


@dataclass(frozen=True, kw_only=True)
class Executed:
    """A notebook after its run, and the folder that it ran in."""

    cells: list[dict[str, Any]]
    folder: Path

    @property
    def text(self) -> str:
        """What the cells printed."""
        outputs = [output for cell in self.cells for output in cell.get("outputs", [])]
        return "".join("".join(output.get("text", "")) for output in outputs)

    @property
    def pictures(self) -> list[bytes]:
        return [picture for cell in self.cells for picture in _pictures_of(cell)]

    @property
    def gallery_picture(self) -> bytes | None:
        """That of the cell with the tag "gallery", else the last one."""
        tagged = [cell for cell in self.cells if "gallery" in cell["metadata"].get("tags", [])]
        pictures = [picture for cell in tagged for picture in _pictures_of(cell)] or self.pictures
        return pictures[-1] if pictures else None

    @property
    def figures(self) -> dict[str, float]:
        """What FIGURES finds in the text, the last of each."""
        found = {name: re.findall(pattern, self.text, re.M) for name, pattern in FIGURES.items()}
        return {name: float(values[-1]) for name, values in found.items() if values}

    @property
    def seconds(self) -> float:
        """From the start of its first cell to the end of its last one."""
        timings = [cell["metadata"].get("execution", {}) for cell in self.cells]
        moments = [_moment(text) for timing in timings for text in timing.values()]
        return (max(moments) - min(moments)).total_seconds()

    @property
    def standard_error(self) -> str:
        outputs = [output for cell in self.cells for output in cell.get("outputs", [])]
        return "".join(
            "".join(output["text"]) for output in outputs if output.get("name") == "stderr"
        )


def _pictures_of(cell: dict[str, Any]) -> list[bytes]:
    outputs = [output for output in cell.get("outputs", []) if "data" in output]
    encoded = [output["data"].get("image/png") for output in outputs]
    return [base64.b64decode("".join(picture)) for picture in encoded if picture]


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def execute(session: SlurmSession, name: str, environments: Path = ENVIRONMENTS) -> Executed:
    """Run a notebook as its user does, and keep it with its pictures under tests/output."""
    load_before = os.getloadavg()[0]
    printed, path = run_notebook(session, name, environments)
    if not path.exists():
        pytest.fail(f"{name} did not run to its end within {HANGS_AFTER_S} s:\n{printed}")
    notebook = json.loads(path.read_text())
    return _keep(name, notebook, path.parent, environments, load_before)


async def execute_in(session: Server, name: str) -> Executed:
    """Run a template in the kernel that a running session has for it, and keep it as above."""
    load_before = os.getloadavg()[0]
    path = f"templates/{name}"
    notebook = json.loads((TEMPLATES / name).read_text())
    kernel = {"name": notebook["metadata"]["kernelspec"]["name"]}
    wanted = {"path": path, "name": path, "type": "notebook", "kernel": kernel}
    opened = ask(session, "POST", "api/sessions", json=wanted)
    socket = await connect(session, opened["kernel"]["id"])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            messages = [one async for one in published(socket, "".join(cell["source"]))]
            cell["outputs"] = [
                {"output_type": one["msg_type"], **one["content"]}
                for one in messages
                if one["msg_type"] in OUTPUTS
            ]
            dates = (messages[0]["header"]["date"], messages[-1]["header"]["date"])
            cell["metadata"]["execution"] = dict(zip(("began", "ended"), dates, strict=True))
    await close_websocket(socket)
    ask(session, "DELETE", f"api/sessions/{opened['id']}")
    return _keep(name, notebook, Path(path).parent, ENVIRONMENTS, load_before)


def _keep(
    name: str,
    notebook: dict[str, Any],
    folder: Path,
    environments: Path,
    load_before: float,
) -> Executed:
    found = Executed(cells=notebook["cells"], folder=folder)
    tested.note(
        name,
        notebook,
        environments,
        seconds=found.seconds,
        figures=found.figures,
        load_before=load_before,
    )
    target = OUTPUT_DIR / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(notebook, indent=1))
    for number, picture in enumerate(found.pictures, start=1):
        target.with_name(f"{target.stem}-{number}.png").write_bytes(picture)
    if found.gallery_picture is not None:
        target.with_suffix(".png").write_bytes(found.gallery_picture)
    return found


def run_notebook(
    session: SlurmSession, name: str, environments: Path = ENVIRONMENTS
) -> tuple[str, Path]:
    """Run a copy of an installed template until its end or its first error.

    Returns what was printed beside the notebook, and the path of the executed one.
    """
    path = PurePosixPath(name)
    here = session.working_dir / "templates" / path.parent
    jupyter = environments / "server/bin/jupyter"
    job = session.submit(
        f"mkdir -p templates && cp -r {TEMPLATES}/. templates/ && cd {here}",
        f"timeout {HANGS_AFTER_S} {jupyter} nbconvert --to notebook --execute "
        f"--log-level=ERROR --output=executed-{path.name} {path.name}",
    )
    return session.output_of(job), here / f"executed-{path.name}"
