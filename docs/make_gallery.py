"""Write docs/gallery.md and docs/benchmarks/templates.json from what the template tests left.

Run it from the root of the repository after the tests, with the tests' own Python:

    tests/run templates
    /opt/data-scientist-portal/environments/test/bin/python docs/make_gallery.py [FOLDER...]

Each FOLDER is the output of a run, tests/output/templates where none is named. Templates that were
not run keep what is known of them. Pictures go to docs/images/templates, the versions that the
launcher shows to notebook_templates/tested.json, and docs/benchmarks.md is written anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

DOCS_DIR = Path(__file__).resolve().parent
CHECKOUT = DOCS_DIR.parent
sys.path[:0] = [str(CHECKOUT), str(DOCS_DIR)]

TEMPLATES_DIR = CHECKOUT / "notebook_templates"
PICTURES_DIR = DOCS_DIR / "images" / "templates"
REPORT = DOCS_DIR / "benchmarks" / "templates.json"
PICTURE_WIDTH_PX = 480
PICTURE_COLOURS = 64
ACCURACY = "accuracy"
WORDS = {
    "notebooks": "template notebooks that ran to their end",
    "seconds_all": "seconds of all of them together",
    "tfrecord_vs_jpeg_3ms": "images/s from tuned TFRecord shards over JPEG files that are read one "
    "after the other, 3 ms more for each open",
    "tfrecord_vs_jpeg_local": "the same on a local disk",
    "tfrecord_vs_tuned_jpeg_3ms": "the same over JPEG files with 32 readers, 3 ms more each",
    "tfrecord_vs_tuned_jpeg_local": "the same over JPEG files with 32 readers, on a local disk",
    "int8_vs_fp32": "images/s of INT8 over FP32, each at its best batch size",
    "int8_accuracy_drop_percent": "points of top-1 accuracy that INT8 loses to FP32",
    "container_vs_bare_percent": "images/s of a training in a container over bare, percent more",
}
NAMES = {
    "": "First",
    "tensorflow": "TensorFlow",
    "pytorch": "PyTorch",
    "mxnet": "MXNet",
    "r": "R",
}
_TOP = """\
# Gallery of templates

Every user finds these notebooks in `templates`. Made by `docs/make_gallery.py` from the last test
run: each notebook was run to its end in its own kernel, in a session of the demo cluster, whose
GPUs are simulated. Time is that of its cells; accuracy is on test data.
"""


def main() -> None:
    """Write report, pictures and pages."""
    folders = [Path(argument) for argument in sys.argv[1:]]
    records: dict[str, Any] = {}
    for folder in folders or [CHECKOUT / "tests" / "output" / "templates"]:
        record = folder / "tested.json"
        found = json.loads(record.read_text()) if record.exists() else {}
        records |= found
        for name in found:
            _keep_picture(folder / name, name)
    report = make_report(json.loads(REPORT.read_text()) if REPORT.exists() else {}, records)
    REPORT.write_text(json.dumps(report, indent=2) + "\n")
    _write_tested(records)
    (DOCS_DIR / "gallery.md").write_text(render(report), encoding="utf-8")
    import make_benchmarks

    make_benchmarks.main()


def make_report(earlier: Mapping[str, Any], records: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report of a run, over an earlier one.

    Args:
        earlier: The last report, or nothing.
        records: What the tests noted of each template.

    Returns:
        The content of docs/benchmarks/templates.json.
    """
    from tests.benchmarks.machine import read_machine

    notebooks = dict(earlier.get("notebooks", {})) | {
        name: _row(record) for name, record in records.items()
    }
    notebooks = {name: row for name, row in sorted(notebooks.items()) if _exists(name)}
    handed_out = {
        name: value for row in notebooks.values() for name, value in row["figures"].items()
    }
    figures = {
        "notebooks": len(notebooks),
        "seconds_all": round(sum(row["seconds"] for row in notebooks.values()), 1),
        **{name: value for name, value in sorted(handed_out.items()) if name != ACCURACY},
    }
    loads = [row["load"] for row in notebooks.values() if row["load"]]
    columns = ("notebook", "seconds", "accuracy", "date")
    rows = [
        [f"`{name}`", row["seconds"], _percent(row), row["date"]] for name, row in notebooks.items()
    ]
    return {
        "title": "Template notebooks",
        "machine": asdict(read_machine()) if records or not earlier else earlier["machine"],
        "date": max((row["date"] for row in notebooks.values()), default=""),
        "command": "tests/run templates",
        "figures": figures,
        "words": {name: WORDS.get(name, "") for name in figures},
        "notebooks": notebooks,
        "tables": [
            {"title": "Seconds and accuracy on test data", "columns": columns, "rows": rows}
        ],
        "notes": [
            "Seconds are those of the cells, without the start of the kernel.",
            f"The load of the machine was {min(loads, default=0)} to {max(loads, default=0)} "
            "meanwhile.",
        ],
    }


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    row = {"seconds": record["seconds"], "date": record["date"], "load": record.get("load")}
    if ACCURACY in record["figures"]:
        row[ACCURACY] = record["figures"][ACCURACY]
    others = {name: value for name, value in record["figures"].items() if name != ACCURACY}
    return row | {"figures": others, "versions": record["versions"]}


def _exists(name: str) -> bool:
    return (TEMPLATES_DIR / name).exists()


def _percent(row: Mapping[str, Any]) -> str:
    return f"{row[ACCURACY]:.1%}" if ACCURACY in row else ""


def _write_tested(records: Mapping[str, Any]) -> None:
    path = TEMPLATES_DIR / "tested.json"
    tested = json.loads(path.read_text()) | {
        name: {"date": record["date"], "versions": record["versions"]}
        for name, record in records.items()
    }
    tested = {name: run for name, run in tested.items() if _exists(name)}
    path.write_text(json.dumps(tested, indent=1, sort_keys=True) + "\n")


def picture_name(name: str) -> str:
    """Return the file name of a template's picture in docs/images/templates.

    Args:
        name: Path below the templates folder.

    Returns:
        Such as "tensorflow-digits.png".
    """
    return Path(name).with_suffix(".png").as_posix().replace("/", "-")


def _keep_picture(notebook: Path, name: str) -> None:
    from PIL import Image

    source = notebook.with_suffix(".png")
    if not source.exists():
        return
    PICTURES_DIR.mkdir(parents=True, exist_ok=True)
    with Image.open(source) as picture:
        height = round(picture.height * PICTURE_WIDTH_PX / picture.width)
        small = picture.convert("RGB").resize((PICTURE_WIDTH_PX, height), Image.Resampling.LANCZOS)
        small.quantize(PICTURE_COLOURS).save(PICTURES_DIR / picture_name(name), optimize=True)


def render(report: Mapping[str, Any]) -> str:
    """Return the page.

    Args:
        report: Content of docs/benchmarks/templates.json.

    Returns:
        Markdown.
    """
    measured = f"Measured on {report['machine']}, {report['date']}."
    parts = [_TOP, " ".join([measured, *report["notes"]]) + "\n"]
    folders = sorted(
        {Path(name).parent.as_posix().removeprefix(".") for name in report["notebooks"]}
    )
    for folder in folders:
        parts.append(f"## {NAMES.get(folder, folder.capitalize())}\n")
        parts += _entries(report["notebooks"], folder)
    return "\n".join(parts)


def _entries(notebooks: Mapping[str, Any], folder: str) -> Iterable[str]:
    for name, row in notebooks.items():
        if Path(name).parent.as_posix().removeprefix(".") != folder:
            continue
        title, text = first_words(TEMPLATES_DIR / name)
        facts = [f"`templates/{name}`", f"{row['seconds']:.0f} s"]
        facts += [f"accuracy {_percent(row)}"] if ACCURACY in row else []
        facts += [f"{package} {version}" for package, version in row["versions"].items()]
        lines = [f"### {title}", "", text, "", " · ".join(facts), ""]
        if (PICTURES_DIR / picture_name(name)).exists():
            lines += [f"![{title}](images/templates/{picture_name(name)})", ""]
        yield "\n".join(lines)


def first_words(notebook: Path) -> tuple[str, str]:
    """Return the title of a notebook and its first paragraph.

    Args:
        notebook: The .ipynb file, whose first cell begins with a heading.

    Returns:
        Both, without line breaks.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    title, text, *_ = "".join(cells[0]["source"]).split("\n\n")
    return title.removeprefix("# ").strip(), " ".join(text.split())


if __name__ == "__main__":
    main()
