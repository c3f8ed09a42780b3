"""The program that looks at GPUs on a node, with stand-ins for what it starts there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portal.hub.settings.loader import Settings
from portal.site.checks import gpu_probe
from portal.site.checks.finding import Grade, read_rows
from portal.site.checks.gpu_findings import SAYINGS, gpu_probe_input
from portal.site.checks.test_job import parse_found, program_script

# Written after the output of nvidia-smi -q -x, without most of its elements.
SMI = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <gpu id="00000000:19:00.0">
    <product_name>NVIDIA H100 80GB HBM3</product_name>
    <ecc_errors>
      <volatile>
        <sram_correctable>7</sram_correctable>
        <sram_uncorrectable_parity>1</sram_uncorrectable_parity>
        <sram_uncorrectable_secded>N/A</sram_uncorrectable_secded>
        <dram_uncorrectable>2</dram_uncorrectable>
      </volatile>
      <aggregate><dram_uncorrectable>9</dram_uncorrectable></aggregate>
    </ecc_errors>
  </gpu>
  <gpu id="00000000:3B:00.0">
    <product_name>Tesla P4</product_name>
    <remapped_rows>N/A</remapped_rows>
  </gpu>
</nvidia_smi_log>
"""
JUPYTER = "#!/bin/sh\ntest -f ../shared/lesson.py && echo $HOME $PORTAL_N_GPUS >&2; exit {status}\n"


@pytest.fixture
def question(settings: Settings, tmp_path: Path) -> dict[str, Any]:
    """Return a question about a site with one kernel and one template for it."""
    kernel = tmp_path / "server/share/jupyter/kernels/pytorch"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps({"argv": [sys.executable, "-m", "x"]}))
    for name, wanted in (("horovod", "tensorflow"), ("pytorch", "pytorch")):
        folder = tmp_path / "templates" / name
        folder.mkdir(parents=True)
        notebook = {"metadata": {"kernelspec": {"name": wanted}}}
        (folder / "digits.ipynb").write_text(json.dumps(notebook))
    (tmp_path / "templates/shared").mkdir()
    (tmp_path / "templates/shared/lesson.py").write_text("")
    program(tmp_path / "server/bin/jupyter", JUPYTER.format(status=0))
    places = {"server": str(tmp_path / "server"), "templates": str(tmp_path / "templates")}
    # Of modules, this Python has the second.
    modules = {"horovod/digits.ipynb": "nowhere", "pytorch/digits.ipynb": "json"}
    return gpu_probe_input(settings, n_gpus=2) | places | {"templates_by_name": modules}


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def run_job(question: dict[str, Any], tools: Path = Path("/nowhere")) -> list[list[Any]]:
    variables = {
        "PROBE_QUESTION": json.dumps(question),
        "PROBE_PYTHON": sys.executable,
        "CUDA_VISIBLE_DEVICES": "0,1",
        "PATH": f"{tools}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-c", program_script(gpu_probe)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found = parse_found(done.stdout)
    assert found is not None, done.stderr
    rows: list[list[Any]] = found["rows"]
    assert {row[0] for row in rows} <= SAYINGS.keys()
    return rows


def test_nvidias_tools_are_asked_for_all_that_they_know(
    question: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "smi.xml").write_text(SMI)
    program(tmp_path / "bin/nvidia-smi", f"#!/bin/sh\ncat {tmp_path}/smi.xml\n")
    program(tmp_path / "bin/dcgmi", "#!/bin/sh\necho '| PCIe | Fail |'; exit 226\n")

    *rows, _ = run_job(question, tmp_path / "bin")

    assert rows == [["ecc", "NVIDIA H100 80GB HBM3", 3], ["dcgm", "| PCIe | Fail |"]]


def test_a_tool_that_fails_or_is_missing_is_told(question: dict[str, Any], tmp_path: Path) -> None:
    program(tmp_path / "bin/nvidia-smi", "#!/bin/sh\necho NVIDIA-SMI has failed; exit 9\n")

    *rows, _ = run_job(question, tmp_path / "bin")

    assert rows == [["smi", "NVIDIA-SMI has failed"]]


def test_where_gpus_are_simulated_the_driver_is_not_asked(question: dict[str, Any]) -> None:
    first, (*template, took_s, n_gpus) = run_job(question | {"is_simulated": True})

    assert first == ["simulated"]
    assert template == ["template on cores", "pytorch/digits.ipynb"]
    assert took_s < 60
    assert n_gpus == "2 simulated GPUs"


def test_the_first_template_whose_kernel_is_there_runs_in_a_home_of_its_own(
    question: dict[str, Any], tmp_path: Path
) -> None:
    program(tmp_path / "server/bin/jupyter", JUPYTER.format(status=1))

    *template, failed = run_job(question)[-1]

    assert template == ["template failed", "pytorch/digits.ipynb", "pytorch"]
    home, n_gpus = failed.split()
    assert "dsportal-check-" in home
    assert not Path(home).exists()
    assert n_gpus == "2"


@pytest.mark.parametrize(
    ("n_gpus", "said"),
    [
        (1, "pytorch finds 1 of 2 GPUs: Cannot dlopen."),
        (2, "with 2 GPUs, which its kernel pytorch finds."),
    ],
)
def test_a_template_that_ran_is_told_with_the_gpus_that_its_kernel_finds(
    question: dict[str, Any], tmp_path: Path, n_gpus: int, said: str
) -> None:
    spec = tmp_path / "server/share/jupyter/kernels/pytorch/kernel.json"
    words = "echo Cannot dlopen >&2; echo oneDNN is on >&2"
    program(tmp_path / "kernel", f"#!/bin/sh\n{words}; echo {n_gpus}\n")
    spec.write_text(json.dumps({"argv": [str(tmp_path / "kernel")]}))

    (finding,) = read_rows(run_job(question)[-1:], SAYINGS, node="node01")

    assert finding.sentence.endswith(said)


def test_without_a_kernel_no_template_runs(question: dict[str, Any]) -> None:
    (finding,) = read_rows(run_job(question | {"server": "/nowhere"})[-1:], SAYINGS, node="node01")

    assert finding.grade is Grade.SKIPPED
    assert "horovod/digits.ipynb or pytorch/digits.ipynb" in finding.sentence


def test_a_template_whose_kernel_lacks_horovod_gives_way_to_the_next(
    question: dict[str, Any], tmp_path: Path
) -> None:
    kernels = tmp_path / "server/share/jupyter/kernels"
    (kernels / "tensorflow").symlink_to(kernels / "pytorch")

    assert run_job(question)[-1][1] == "pytorch/digits.ipynb"
