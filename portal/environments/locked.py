"""A locked environment: made and filled by uv, from versions and hashes that it keeps."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dsportal.packages.overlay import Overlay
from dsportal.whole_file import write_whole
from portal.environments.errors import RegistryError
from portal.environments.record import read_group, write_record
from portal.environments.sharing import share
from portal.environments.shipped import shipped_environment, write_stand_ins
from portal.environments.uv import Uv

REQUIREMENTS = "requirements.in"
LOCK = "requirements.lock"
# What a kernel needs, and what %pip runs.
_ALWAYS = ("ipykernel", "pip")
_REFUSED = re.compile(r"\s*(-r|-c|-e|--requirement|--constraint|--editable)\b")
_OF_INDEXES = re.compile(r"\s*(-i|-f|--index-url|--extra-index-url|--find-links|--no-index)\b")
_PIN = re.compile(r"^[A-Za-z0-9][^\s;]*(?: @ \S+)?(?: ;[^\\]*)?", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What an environment is built on.

    Attributes:
        like: The shipped kernel whose packages it sees, or "".
        python: That kernel's interpreter, or what uv makes the environment with: a version or path.
    """

    like: str
    python: str


def requirements_text(files: Iterable[Path], packages: Iterable[str]) -> str:
    """Return the content of requirements files and packages of a command as one file."""
    texts = []
    for path in files:
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RegistryError(
                f"The requirements {path} cannot be read. Name a text file with a package a line."
            ) from error
        if wrong := next(filter(_REFUSED.match, text.splitlines()), None):
            raise RegistryError(
                f"{path} has the line {wrong.strip()!r:.80}, which names another file. Name each "
                "requirements file with -r, and write its packages in lines of their own."
            )
        texts.append(text.rstrip("\n"))
    return "\n".join([*texts, *packages, ""])


def make_locked(
    folder: Path, requirements: str, base: Base, uv: Uv, *, group: int | None = None
) -> None:
    """Make an environment with a lock; if that fails nothing is left.

    The `requirements` are the content of a requirements file. A `group` can read it.
    """
    if folder.exists() or folder.is_symlink():
        raise RegistryError(
            f"{folder} already exists. Choose another name or --folder. If a killed command left "
            "it, remove it."
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _make_empty(folder, base, uv)
        if not base.like:
            requirements += "".join(f"{name}\n" for name in _ALWAYS)
        lock = _compile(folder, requirements, base, uv)
        _keep(folder, requirements, lock)
        _sync(folder, uv)
        write_record(folder, base.like, group)
        if group is not None:
            share(folder, group)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise RegistryError(
                f"{folder} cannot be written: {error.strerror}. Nothing was made. Make room, or "
                "choose another folder with --folder."
            ) from error
        raise


def update_locked(
    folder: Path,
    packages: Sequence[str],
    base: Base,
    uv: Uv,
    check: Callable[[], list[str]],
) -> list[str]:
    """Choose the newest versions of what a locked environment requires, and install them.

    Further `packages` are required from now on; `check` raises if the result does not work.
    """
    try:
        requirements, lock = ((folder / name).read_text("utf-8") for name in (REQUIREMENTS, LOCK))
        if base.like:
            _refresh(folder, base)
        wanted = requirements + "".join(f"{package}\n" for package in packages)
        new_lock = _compile(folder, wanted, base, uv)
        _keep(folder, wanted, new_lock)
        try:
            _sync(folder, uv)
            packages = check()
        except BaseException:
            _keep(folder, requirements, lock)
            _sync(folder, uv)
            raise
        finally:
            group = read_group(folder)
            if group is not None:
                share(folder, group)
        return packages
    except OSError as error:
        raise RegistryError(
            f"{folder} cannot be updated: {error.filename}: {error.strerror}."
        ) from error


def export_locked(folder: Path) -> str:
    """Return the packages of a locked environment with their versions, one a line."""
    try:
        lock = (folder / LOCK).read_text("utf-8")
    except OSError as error:
        raise RegistryError(f"{folder / LOCK} cannot be read: {error.strerror}.") from error
    options = [line for line in lock.splitlines() if _OF_INDEXES.match(line)]
    return "".join(f"{line.strip()}\n" for line in [*options, *_PIN.findall(lock)])


def _make_empty(folder: Path, base: Base, uv: Uv) -> None:
    if base.like:
        Overlay(folder).make(shipped_environment(Path(base.python)))
        return
    uv.run(
        *("venv", "--quiet", "--no-project", "--python", base.python, folder),
        problem=f"There is no Python {base.python} for it. The output of uv says why. Nothing was "
        "made. Name a version that this node has, or none for the portal's own.",
    )


def _refresh(folder: Path, base: Base) -> None:
    shipped = shipped_environment(Path(base.python))
    if not (folder / f"lib/python{shipped.version}").is_dir():
        raise RegistryError(
            f"The kernel {base.like} has Python {shipped.version} now, {folder} another one. Make "
            f"a new environment: dsportal environments new NAME --like {base.like} -r "
            f"{folder / REQUIREMENTS}"
        )
    Overlay(folder).make(shipped)


def _compile(folder: Path, requirements: str, base: Base, uv: Uv) -> str:
    """Return the lock of `requirements` for the environment in a folder."""
    print("Choosing versions.", flush=True)
    with tempfile.TemporaryDirectory(prefix="dsportal-environment-") as name:
        given, lock = Path(name, REQUIREMENTS), Path(name, LOCK)
        given.write_text(requirements, "utf-8")
        words: list[str | Path] = ["--output-file", lock, "--python", folder / "bin/python"]
        if base.like:
            words += _shipped_words(base, Path(name))
        uv.run(
            *("pip", "compile", given, "--generate-hashes", "--no-header", "--no-annotate"),
            *words,
            *uv.indexes.options,
            problem=_no_versions(base),
        )
        options = [line for line in requirements.splitlines() if _OF_INDEXES.match(line)]
        return "".join(f"{line}\n" for line in options) + lock.read_text("utf-8")


def _shipped_words(base: Base, folder: Path) -> list[str | Path]:
    wheels, constraints = folder / "shipped", folder / "shipped.txt"
    wheels.mkdir()
    versions = write_stand_ins(shipped_environment(Path(base.python)), wheels)
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))
    left_out = (f"--no-emit-package={name}" for name in versions)
    return ["--constraints", constraints, "--find-links", wheels, *left_out]


def _no_versions(base: Base) -> str:
    if not base.like:
        return (
            "No versions of these packages were found that fit together. The output of uv is "
            "above. Nothing was changed. Ask for other versions, or for another Python."
        )
    return (
        f"No versions of these packages were found that fit the kernel {base.like}, whose own "
        "packages keep theirs. The output of uv says why. Nothing was changed. Ask for other "
        "versions, or for an environment that is not based on a kernel."
    )


def _keep(folder: Path, requirements: str, lock: str) -> None:
    write_whole(folder / REQUIREMENTS, requirements.encode())
    write_whole(folder / LOCK, lock.encode())


def _sync(folder: Path, uv: Uv) -> None:
    print("Installing.", flush=True)
    try:
        uv.run(
            *("pip", "sync", "--allow-empty-requirements"),
            *(folder / LOCK, "--python", folder / "bin/python"),
            *uv.indexes.options,
            problem="The packages could not be installed. The output of uv says why. Nothing was "
            "changed. If the disk is full, make room or choose another folder.",
        )
    finally:
        # uv makes it writable for everybody.
        (folder / ".lock").unlink(missing_ok=True)
