"""`tests/run gpu`: finds a Python with PyTorch and starts the suite with it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deploy.environments.builder.plan import Plan
from tests.support.checkout import PYTHONPATH

CHECKOUT = Path(__file__).resolve().parents[3]


def run_gpu(argv: Sequence[str]) -> int:
    """Start the suite, without installing anything.

    Args:
        argv: Words after "gpu"; `--python PYTHON` chooses who runs it, the rest is the suite's.

    Returns:
        Its exit status; 2 if no Python has PyTorch, or PyTorch sees no GPU.
    """
    parser = argparse.ArgumentParser(prog="tests/run gpu", add_help=False, allow_abbrev=False)
    parser.add_argument("--python")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--out", type=Path)
    options, rest = parser.parse_known_args(argv)
    candidates = [options.python] if options.python else default_pythons()
    python = next((each for each in candidates if has_torch(each)), None)
    if python is None:
        print(
            f"None of these has PyTorch: {', '.join(candidates)}. Name one that has it: "
            "tests/run gpu --python /path/to/python3",
            file=sys.stderr,
        )
        return 2
    needs_gpu = not options.cpu and not {"-h", "--help"} & set(rest)
    if needs_gpu and (why := why_no_gpu(python)):
        print(
            f"PyTorch of {python} sees no GPU ({why}). Run it where there is one, or try the suite "
            "itself with --cpu.",
            file=sys.stderr,
        )
        return 2
    with tempfile.TemporaryDirectory(prefix="gpu-suite-") as folder:
        # Some packages bring a `tests` of their own, which would be found before ours.
        package = Path(folder) / "tests"
        package.mkdir()
        tests = str(CHECKOUT / "tests")
        (package / "__init__.py").write_text(f"__path__ = [{tests!r}]\n")
        environ = {
            **os.environ,
            "PYTHONPATH": f"{folder}:{PYTHONPATH}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        cpu = ["--cpu"] if options.cpu else []
        # The suite runs in another folder.
        out = [f"--out={options.out.resolve()}"] if options.out else []
        command = [python, "-m", "tests.lab.gpu", *cpu, *out, *rest]
        return subprocess.run(command, cwd=folder, env=environ, check=False).returncode


def default_pythons() -> list[str]:
    """Return where PyTorch is looked for: this user's Python first, then the portal's."""
    own = Plan().environment("pytorch") / "bin" / "python"
    return ["python3", sys.executable, *([str(own)] if own.exists() else [])]


def has_torch(python: str) -> bool:
    """Whether a Python has PyTorch; it is not imported, which takes seconds."""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def why_no_gpu(python: str) -> str | None:
    """Return why PyTorch sees no GPU, or None."""
    code = "import torch; torch.cuda.init(); print(torch.cuda.device_count())"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode == 0 and int(done.stdout) > 0:
        return None
    return (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
