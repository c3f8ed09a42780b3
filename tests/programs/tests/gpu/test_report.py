"""What the GPU suite writes down, with made-up figures: nothing of it is kept."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import pytest

from tests.gpu.command import run_gpu
from tests.gpu.findings import Check, Figure, Findings, FindingsFile, Untried, read_findings
from tests.gpu.report import report_of, text_of, write_report
from tests.support.load_file import load_file

DOCS = Path(__file__).parents[4] / "docs"


def make_benchmarks() -> ModuleType:
    return load_file(DOCS / "make_benchmarks.py")


def draw(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, DOCS / "make_gpu_plot.py", source, target]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def made_up() -> Findings:
    names = (
        *(f"train_resnet50_{name}_images_per_s" for name in ("fp32", "tf32", "bf16")),
        *("batch_1_resnet50_bf16_images_per_s", "batch_2_resnet50_bf16_images_per_s"),
        *("product_int8_tera_per_s", "infer_transformer_int8_texts_per_s"),
        *("input_jpeg_one_by_one_images_per_s", "input_jpeg_one_by_one_waited_percent"),
        "ddp_2_ranks_resnet50_bf16_images_per_s",
    )
    figures = [
        Figure(name=name, label=f"what {name} is", values=(100.0 * n, 300.0 * n, 200.0 * n))
        for n, name in enumerate(names, start=1)
    ]
    return Findings(
        figures=figures,
        checks=[
            Check(sentence="A copy is the same", passed=True),
            Check(sentence="A GPU at rest counts as idle", passed=False, detail="(31.0,)"),
        ],
        untried=[Untried(what="links between GPUs", why="there is one GPU")],
        facts={"name": "Made-up GPU", "n_gpus": 1, "memory_mib": 1024, "torch": "0", "cuda": "0"},
    )


def test_a_report_has_the_median_the_spread_and_what_was_timed() -> None:
    report = report_of(made_up(), took_s=12.0)

    name = "train_resnet50_fp32_images_per_s"
    assert report["title"] == "GPU: Made-up GPU"
    assert report["command"] == "tests/run gpu"
    assert report["figures"][name] == 200.0
    assert report["spread"][name] == {"least": 100.0, "most": 300.0, "rounds": 3}
    assert report["words"][name] == f"what {name} is"


def test_the_page_of_benchmarks_shows_spread_checks_and_what_was_not_tried() -> None:
    report = json.loads(json.dumps(report_of(made_up(), took_s=12.0)))

    page = make_benchmarks().render({"gpu": report})

    assert "| `train_resnet50_fp32_images_per_s` | 200.0 | 100.0 | 300.0 | 3 | what " in page
    assert "| ResNet50, images/s | 200 | 400 | - | 600 | 3.00 |" in page
    assert "| A GPU at rest counts as idle | **NO** | (31.0,) |" in page
    assert "| links between GPUs | there is one GPU |" in page
    assert "![GPU: Made-up GPU](images/gpu.svg)" in page


def test_the_plot_has_a_bar_for_each_figure_of_its_panels(tmp_path: Path) -> None:
    source, target = tmp_path / "gpu.json", tmp_path / "gpu.svg"
    write_report(report_of(made_up(), took_s=12.0), source)

    assert draw(source, target).returncode == 0

    words = [e.text for e in ElementTree.parse(target).iter("{http://www.w3.org/2000/svg}text")]
    assert any(word and word.startswith("GPU: Made-up GPU, ") for word in words)
    assert "ResNet50, training, images/s" in words
    assert words[words.index("bf16") + 1] == "600"
    assert "VGG16, training, images/s" not in words


def test_without_a_report_the_plot_says_how_to_get_one(tmp_path: Path) -> None:
    target = tmp_path / "gpu.svg"

    done = draw(tmp_path / "gpu.json", target)

    assert done.returncode == 2
    assert "tests/run gpu" in done.stderr
    assert not target.exists()


def test_the_terminal_names_failed_checks_with_what_was_seen() -> None:
    text = text_of(made_up(), 12.0)

    assert "  NO   A GPU at rest counts as idle: (31.0,)" in text
    assert "  links between GPUs: there is one GPU" in text
    assert text.splitlines()[-1] == "10 figures, 2 checks, 1 failed, 1 not tried, 12 s"


def test_what_a_part_found_before_it_was_killed_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    file = FindingsFile(path)
    file.fact("name", "Made-up GPU")
    file.figure("copies_per_s", "copies", [1.0, 2.0])
    file.check("A copy is the same", True)
    file.untried("MIG", "this card is not divided")
    with path.open("a") as tail:
        tail.write('{"kind": "figure", "na')

    found = read_findings(path)

    assert found.facts == {"name": "Made-up GPU"}
    assert found.figures == [Figure(name="copies_per_s", label="copies", values=(1.0, 2.0))]
    assert found.checks == [Check(sentence="A copy is the same", passed=True)]
    assert found.untried == [Untried(what="MIG", why="this card is not divided")]


def test_a_python_without_pytorch_is_refused_with_how_to_name_another(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_gpu(["--python", "/nowhere/python3", "--cpu"]) == 2
    error = capfd.readouterr().err
    assert "/nowhere/python3" in error
    assert "--python" in error
