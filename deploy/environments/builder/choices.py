"""What a build is told once and later builds keep: its Python, flavour and CUDA toolkit."""

import re
from pathlib import Path

from deploy.common.errors import DeployError
from deploy.environments.builder import uv
from deploy.environments.builder.plan import PYTHON, Flavour, Plan, read_version
from deploy.environments.builder.process import read_output


def machine_flavour() -> Flavour:
    """Return the flavour that suits this machine: GPU if nvidia-smi lists one."""
    lines = (read_output(["nvidia-smi", "-L"]) or "").splitlines()
    # With a driver but no GPU, nvidia-smi prints a sentence.
    return Flavour.GPU if any(line.startswith("GPU ") for line in lines) else Flavour.CPU


def kept_flavour(prefix: Path) -> Flavour:
    """Return the flavour that an installation keeps, else the one that suits this machine."""
    kept = _kept(prefix, "flavour")
    return Flavour(kept) if kept else machine_flavour()


def kept_python(prefix: Path) -> Path:
    """Return the interpreter that an installation keeps, else the system's."""
    return Path(_kept(prefix, "python") or PYTHON)


def kept_cuda(prefix: Path) -> Path | None:
    """Return the toolkit that an installation keeps; None for the compiler from the index."""
    kept = _kept(prefix, "cuda")
    return Path(kept) if kept else None


def keep_choices(plan: Plan) -> None:
    """Remember the choices of a plan for later builds."""
    # A machine that gets GPUs later changes its flavour by itself.
    suits = plan.flavour is machine_flavour()
    _keep(plan.prefix, "flavour", "" if suits else plan.flavour.value)
    _keep(plan.prefix, "cuda", str(plan.cuda_home or ""))
    keep_python(plan.prefix, plan.python)


def keep_python(prefix: Path, python: Path) -> None:
    """Remember the choice of an interpreter, unless it is the system's."""
    _keep(prefix, "python", "" if python == PYTHON else str(python))


def _kept(prefix: Path, choice: str) -> str:
    path = prefix / choice
    return path.read_text().strip() if path.exists() else ""


def _keep(prefix: Path, choice: str, value: str) -> None:
    if value:
        (prefix / choice).write_text(f"{value}\n")
    else:
        (prefix / choice).unlink(missing_ok=True)


def locked_pythons() -> list[str]:
    """Return the Pythons that uv.lock is for, such as "3.11", the oldest first."""
    project = uv.read_toml(Plan().recipes_dir / "pyproject.toml")["project"]
    oldest, first_too_new = map(int, re.findall(r"3\.(\d+)", project["requires-python"]))
    return [f"3.{minor}" for minor in range(oldest, first_too_new)]


def refuse_python(python: Path) -> None:
    """Check that environments can be made with an interpreter."""
    *pythons, newest = locked_pythons()
    ours = f"Name a Python {', '.join(pythons)} or {newest} with --python PATH."
    # It goes into the first line of programs, which start in any folder.
    if not python.is_absolute():
        raise DeployError(f"{python} is no absolute path.", ours)
    version = read_version(python)
    if not version.startswith("Python 3."):
        raise DeployError(f"{python} is no Python that can be run.", ours)
    if ".".join(version.removeprefix("Python ").split(".")[:2]) not in {*pythons, newest}:
        raise DeployError(f"{python} is {version}, for which no packages are locked.", ours)
