"""What NVIDIA's tools say of a job's GPUs, and whether a template runs on them.

The job's script holds this text, so it stands alone: only Python's own library, for Python 3.9 or
newer. PROBE_QUESTION in the environment is a JSON object, see
`portal.site.checks.gpu_findings.gpu_probe_input`. Each row of the answer is a key of `SAYINGS`
there, and its words.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

MARK = "dsportal-check: "
Row = tuple[object, ...]
NVIDIA_SMI_S = 30.0
DCGMI_S = 120.0
TEMPLATE_S = 600.0
COUNT_S = 60.0
NO_PROGRAM = 127
N_LETTERS = 300
HAS_MODULE = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
# Of all that frameworks write, the lines that may say why there is no GPU.
_ABOUT_GPUS = re.compile("CUDA|GPU|driver|dlopen|cuInit")
# Run by the template's kernel: how many GPUs its framework finds.
COUNT_GPUS = """
import importlib.util
if importlib.util.find_spec("tensorflow"):
    import tensorflow
    print(len(tensorflow.config.list_physical_devices("GPU")))
else:
    import torch
    print(torch.cuda.device_count())
"""


def main() -> None:
    """Look, and print what was found."""
    # Slurm ends a job by this signal; folders and programs go with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    question = json.loads(os.environ["PROBE_QUESTION"])
    given = [word for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word]
    # A machine with a card may hold simulated nodes, whose GPUs its driver does not know.
    if question["is_simulated"]:
        rows: list[Row] = [("simulated",)]
    else:
        smi = run(["nvidia-smi", "-q", "-x"], NVIDIA_SMI_S)
        rows = [*judge_nvidia_smi(*smi, given, question["n_gpus"])]
        rows += judge_dcgmi(*run(["dcgmi", "diag", "-r", "1"], DCGMI_S))
    rows.append(run_template(question, given))
    print(MARK + json.dumps({"node": socket.gethostname(), "rows": rows}), flush=True)


def judge_nvidia_smi(
    status: int, printed: str, errors: str, given: list[str], n_wanted: int
) -> list[Row]:
    """Return what nvidia-smi's answer means for a job that was `given` GPUs, and wanted `n_wanted`.

    Source:
        nvidia-smi(1), -q -x; an element that a driver or a card does not have is missing.
    """
    if status == NO_PROGRAM:
        return [("no smi",)]
    try:
        # What the driver's own program printed.
        log = ElementTree.fromstring(printed)  # noqa: S314
    except ElementTree.ParseError:
        said = ((printed.strip() or errors.strip()).splitlines() or [f"exit status {status}"])[0]
        # The new libraries do not fit the module that the kernel still has loaded.
        return [("smi updated" if "version mismatch" in said else "smi", said[:N_LETTERS])]
    gpus = log.findall("gpu")
    rows: list[Row] = []
    if len(given) < n_wanted:
        rows.append(("given", n_wanted, len(given)))
    if len(gpus) < n_expected(given):
        rows.append(("listed", len(given), len(gpus)))
    rows += [row for gpu in gpus for row in judge_gpu(gpu)]
    names = sorted({gpu.findtext("product_name", "") for gpu in gpus})
    migs = sorted({gpu.findtext("mig_mode/current_mig", "") for gpu in gpus} - {""})
    driver, mig = log.findtext("driver_version", ""), ", ".join(migs) or "unknown"
    return rows or [("gpus", len(given), ", ".join(names), driver, mig)]


def judge_gpu(gpu: ElementTree.Element) -> Iterator[Row]:
    """Yield what is wrong with a GPU, in nvidia-smi's words."""
    name = gpu.findtext("product_name") or "a GPU"
    # Newer drivers count them by kind, and cards without ECC say N/A.
    counts = gpu.find("ecc_errors/volatile")
    told = [one for one in (counts if counts is not None else ()) if "uncorrectable" in one.tag]
    if n_errors := sum(int(one.text or 0) for one in told if (one.text or "").isdecimal()):
        yield "ecc", name, n_errors
    if gpu.findtext("remapped_rows/remapped_row_failure") == "Yes":
        yield "row failure", name
    elif gpu.findtext("remapped_rows/remapped_row_pending") == "Yes":
        yield "row pending", name
    if gpu.findtext("persistence_mode") == "Disabled":
        yield "persistence", name


def judge_dcgmi(status: int, printed: str, errors: str) -> list[Row]:
    """Return what DCGM's quick diagnosis means; nothing if there is no dcgmi."""
    if status == NO_PROGRAM:
        return []
    lines = [line.strip() for line in (printed + "\n" + errors).splitlines() if line.strip()]
    told = [line for line in lines if "fail" in line.lower() or "error" in line.lower()]
    said = (told or [""])[0][:N_LETTERS]
    if "connect" in said:
        return [("dcgm away", said)]
    return [("dcgm", said or f"exit status {status}") if status or said else ("dcgm well",)]


def n_expected(given: list[str]) -> int:
    """Return how many of the GPUs that a job was given one program finds.

    Source:
        CUDA C++ Programming Guide, MIG: a program uses one part of a GPU, and nvidia-smi lists the
        whole.
    """
    return 1 if any(name.startswith("MIG-") for name in given) else len(given)


def run_template(question: dict[str, Any], given: list[str]) -> Row:
    """Run the first template of a `question` whose kernel has what it needs, to its last cell."""
    templates, server = Path(question["templates"]), Path(question["server"])
    for name, module in question["templates_by_name"].items():
        try:
            notebook = json.loads((templates / name).read_text("utf-8"))
            kernel = notebook["metadata"]["kernelspec"]["name"]
            spec = server / "share/jupyter/kernels" / kernel / "kernel.json"
            python = json.loads(spec.read_text("utf-8"))["argv"][0]
        except (OSError, ValueError, LookupError):
            continue
        if run([python, "-I", "-c", HAS_MODULE, module], COUNT_S)[0] != 0:
            continue
        took_s, failed = execute(question, name)
        if failed:
            return "template failed", name, kernel, failed
        if question["is_simulated"]:
            return "template on cores", name, took_s, count(len(given), "simulated GPU")
        # -I: packages of the user and PYTHONPATH must not change what is looked at.
        _, printed, errors = run([python, "-I", "-c", COUNT_GPUS], COUNT_S)
        last = last_line(printed)
        n_gpus, wanted = int(last) if last.isdecimal() else 0, n_expected(given)
        if n_gpus >= wanted:
            return "template", name, took_s, kernel, count(n_gpus, "GPU")
        said = last_line("\n".join(filter(_ABOUT_GPUS.search, errors.splitlines())))
        return "template lacks", name, took_s, kernel, n_gpus, wanted, said or "no reason given"
    return "untried", f"no kernel here can run {' or '.join(question['templates_by_name'])}"


def execute(question: dict[str, Any], name: str) -> tuple[int, str]:
    """Run a copy of a template in a home of its own, without packages and settings of the user.

    `question` is that of `run_template`.

    Returns:
        The seconds that it took, and why it failed; empty if it ran.
    """
    templates = Path(question["templates"])
    jupyter = str(Path(question["server"], "bin/jupyter"))
    words = ("nbconvert", "--to=notebook", "--execute", "--log-level=ERROR", "--output=executed")
    with tempfile.TemporaryDirectory(prefix="dsportal-check-") as home:
        folder = Path(home, "templates", name).parent
        shutil.copytree(templates / "shared", Path(home, "templates/shared"))
        shutil.copytree((templates / name).parent, folder)
        variables = {**question["variables"], "HOME": home}
        began_s = time.monotonic()
        status, _, errors = run([jupyter, *words, Path(name).name], TEMPLATE_S, folder, variables)
    failed = (last_line(errors) or f"exit status {status}") if status else ""
    return round(time.monotonic() - began_s), failed


def count(n: int, what: str) -> str:
    """Return `n` and the name of the things, such as "2 GPUs"."""
    return f"{n} {what}{'s' * (n != 1)}"


def last_line(text: str) -> str:
    """Return the last line that is not empty; "" if there is none."""
    return (text.strip().splitlines() or [""])[-1].strip()[:N_LETTERS]


def run(
    argv: list[str],
    timeout_s: float,
    folder: Path = Path("/"),
    variables: dict[str, str] | None = None,
) -> tuple[int, str, str]:
    """Run a program to its end, or for `timeout_s`, with `variables` beside those of the job.

    Returns:
        Exit status (127 if there is no such program, 124 if it took too long), what it
        printed, and its errors.
    """
    try:
        done = subprocess.run(
            argv,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            cwd=folder,
        )
    except OSError as error:
        return NO_PROGRAM, "", str(error.strerror)
    except subprocess.TimeoutExpired:
        return 124, "", f"no answer in {timeout_s:.0f} s"
    return (
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
    )


if __name__ == "__main__":
    main()
