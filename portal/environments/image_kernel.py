"""What a kernel needs and an image lacks: wheels that fit it, in a folder beside the image."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from portal.environments.command import Node, enter
from portal.environments.entry import Environment, Kind
from portal.environments.errors import RegistryError
from portal.environments.languages import PYTHON
from portal.environments.probe import PROBE_TIMEOUT_S, last_words, quick_problem
from portal.environments.shipped import write_stand_in
from portal.environments.uv import Uv, uv_here

_MARK = "dsportal-image"
_KERNEL = "ipykernel"
# Carries functions of a notebook to ranks.
_CARRIER = "cloudpickle"
# Without the user's own site-packages, which apptainer mounts with the home: they may go.
_LOOK = f"""\
import json, platform, sys
found = {{}}
try:
    from importlib.metadata import distributions
    for one in distributions():
        found.setdefault(one.metadata["Name"], one.version)
except ImportError:
    pass
try:
    from importlib.util import find_spec
    lacks = [name for name in ("{_KERNEL}", "{_CARRIER}") if find_spec(name) is None]
except ImportError:
    lacks = ["{_KERNEL}", "{_CARRIER}"]
look = ["%d.%d" % sys.version_info[:2], platform.machine(), platform.libc_ver(), found, lacks]
print("{_MARK}", json.dumps(look))
"""
# What uv knows between the oldest and the newest.
_GLIBC_MINORS = (17, 28, *range(31, 41))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePython:
    """The Python in an image.

    Attributes:
        platform: What uv calls the platform of wheels that it can load.
        packages: What is installed, versions by name.
        lacks: What a kernel and its ranks need, and it does not have.
    """

    version: str
    platform: str
    packages: Mapping[str, str]
    lacks: tuple[str, ...]


def parse_look(printed: str) -> ImagePython | None:
    """Return the Python that answered, or None if this is no answer of it."""
    lines = (line.partition(" ") for line in printed.splitlines())
    answer = next((text for mark, _, text in lines if mark == _MARK), None)
    if answer is None:
        return None
    version, machine, (libc, release), packages, lacks = json.loads(answer)
    return ImagePython(
        version=version,
        platform=_platform(machine, release if libc == "glibc" else ""),
        # A package without a name has the key "null".
        packages={name: one for name, one in packages.items() if name != "null" and one},
        lacks=tuple(lacks),
    )


def _platform(machine: str, glibc: str) -> str:
    """Return uv's name of a platform.

    Source:
        uv pip install --help, --python-platform; PEP 600 and PEP 656.
    """
    minor = glibc.removeprefix("2.").partition(".")[0]
    if not minor.isdecimal():
        return f"{machine}-unknown-linux-musl"
    fitting = [one for one in _GLIBC_MINORS if one <= int(minor)]
    return f"{machine}-manylinux_2_{max(fitting, default=_GLIBC_MINORS[0])}"


def look_into(environment: Environment, node: Node) -> ImagePython:
    """Ask the Python of an image what it is."""
    if problem := quick_problem(environment, node):
        raise RegistryError(problem)
    try:
        done = subprocess.run(
            enter(environment, node, ("-s", "-c", _LOOK)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_TIMEOUT_S,
            check=False,
            cwd="/",
        )
    except subprocess.TimeoutExpired:
        raise RegistryError(f"The image did not answer within {PROBE_TIMEOUT_S:g} s.") from None
    python = parse_look(done.stdout.decode("utf-8", "replace"))
    if python is None:
        raise RegistryError(
            f"The image does not start {environment.program}; its last output: "
            f"{last_words(done.stderr) or 'none'}. A kernel needs a Python there. If it has "
            "another name or path, give that with --program."
        )
    return python


def ensure_kernel(environment: Environment, node: Node, folder: Path) -> bool:
    """Install what a kernel needs into `folder`, if the image has a Python without it.

    Without cloudpickle the kernel starts all the same.

    Returns:
        Whether the folder was made, so that the environment needs it.
    """
    is_python = environment.kind is Kind.IMAGE and environment.language is PYTHON
    if not is_python or environment.kernel_packages is not None:
        return False
    python = look_into(environment, node)
    if not python.lacks:
        return False
    print(
        f"Installing {' and '.join(python.lacks)} beside the image, for its Python "
        f"{python.version}.",
        flush=True,
    )
    install_kernel(python, folder, uv_here())
    return folder.is_dir()


def install_kernel(python: ImagePython, folder: Path, uv: Uv) -> None:
    """Install what an image lacks, and what that depends on, into a new folder.

    Versions are chosen to fit what the image has, which is imported first.
    """
    # Renamed when it is whole.
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    # What an earlier environment of this name has left.
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for package in python.lacks:
            _install(package, python, part, uv)
        if part.is_dir():
            part.replace(folder)
    except OSError as error:
        raise RegistryError(f"{folder} cannot be written: {error.strerror}. Make room.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _install(package: str, python: ImagePython, target: Path, uv: Uv) -> None:
    with tempfile.TemporaryDirectory(prefix="dsportal-image-") as name:
        words = [*_install_words(python, target, Path(name)), *uv.indexes.options, package]
        problem = (
            f"{package} could not be installed for Python {python.version} of the image. The "
            f"output of uv says why. Without a way to a package index, put the wheels of {package} "
            f"and of what it depends on into a folder, and name that as find-links in "
            f"~/.config/pip/pip.conf. Or install {package} in the image."
        )
        try:
            uv.run(*words, problem=problem)
        except RegistryError as error:
            if package == _KERNEL:
                raise
            again = "The kernel works without it, but 'run' starts no ranks in it."
            print(f"{error.message} {again}", flush=True)


def _install_words(python: ImagePython, target: Path, folder: Path) -> list[str | Path]:
    constraints, wheels = folder / "image.txt", folder / "image"
    wheels.mkdir()
    kept = {name for name in python.packages if write_stand_in(name, python.packages[name], wheels)}
    lines = (f"{name}=={python.packages[name]}\n" for name in sorted(kept))
    constraints.write_text("".join(lines), "utf-8")
    # With this process's own interpreter uv needs none of the image's version.
    place = ("--python", os.path.realpath(sys.executable), "--target", target)
    fitting = ("--python-version", python.version, "--python-platform", python.platform)
    image = ("--constraints", constraints, "--find-links", wheels)
    return ["pip", "install", *place, *fitting, "--only-binary", ":all:", *image]
