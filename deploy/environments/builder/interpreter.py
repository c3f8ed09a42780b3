"""The Python of an installation: the system's own, or one chosen with --python."""

from __future__ import annotations

from pathlib import Path

from deploy.environments.builder.errors import BuildError
from deploy.environments.builder.plan import PYTHON, SOURCE_DIR, read_version

LOCKS_DIR = SOURCE_DIR / "deploy/environments/locks"


def kept_python(prefix: Path) -> Path:
    """Return the interpreter that an installation keeps, else the system's."""
    path = _note(prefix)
    return Path(path.read_text().strip()) if path.exists() else PYTHON


def keep_python(prefix: Path, python: Path) -> None:
    """Remember the choice of an interpreter for later builds.

    `python` is not stored if it is the system's.
    """
    if python == PYTHON:
        _note(prefix).unlink(missing_ok=True)
    else:
        _note(prefix).write_text(f"{python}\n")


def refuse_python(python: Path) -> None:
    """Check that environments can be made with an interpreter.

    Raises:
        BuildError: If it is none, or one that no packages are locked for.
    """
    releases = sorted(path.name for path in LOCKS_DIR.iterdir())
    ours = f"Name a Python {', '.join(releases[:-1])} or {releases[-1]} with --python PATH."
    # It goes into the first line of programs, which start in any folder.
    if not python.is_absolute():
        raise BuildError(f"{python} is no absolute path.", ours)
    version = read_version(python)
    if not version.startswith("Python 3."):
        raise BuildError(f"{python} is no Python that can be run.", ours)
    if ".".join(version.removeprefix("Python ").split(".")[:2]) not in releases:
        raise BuildError(f"{python} is {version}, for which no packages are locked.", ours)


def _note(prefix: Path) -> Path:
    return prefix / "python"
