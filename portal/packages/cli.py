"""The commands `dsportal packages list`, `pip`, `reset`, `reinstall`, `off` and `on`."""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dsportal.packages.installed import Package, packages_in, size_bytes
from dsportal.packages.overlay import FOLDER, Overlay, find_overlay, list_overlays
from dsportal.packages.renewal import install_again, join_names, last_release, requested_in
from dsportal.slurm.errors import PortalError
from portal.packages import r_library

_BYTES_PER_MIB = 1024 * 1024


class PackagesError(PortalError):
    """A command on the user's packages failed."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A shipped kernel that starts with the user's packages.

    Attributes:
        release: What packages must be compatible with, such as "2.21-py3.11".
        python: The shipped interpreter.
        variables: Environment variables of its processes, without PATH.
    """

    name: str
    release: str
    python: Path
    variables: Mapping[str, str] = field(default_factory=dict)


def add_commands(commands: Any) -> None:
    """Add `packages` to `commands`, the subparsers of `dsportal`."""
    parser = commands.add_parser("packages", help="manage your packages for the shipped kernels")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list your packages and their size")
    listing.add_argument("kernel", nargs="?", help="only this kernel")
    listing.set_defaults(run=print_packages)
    pip = actions.add_parser("pip", help="run pip for a kernel, as %%pip does in a cell")
    pip.set_defaults(run=run_pip)
    pip.add_argument("kernel", help="kernel, such as tensorflow")
    pip.add_argument(
        "words", nargs=argparse.REMAINDER, help="arguments of pip, such as: install einops"
    )
    reset = actions.add_parser(
        "reset", help="remove all your packages of a kernel, of every release"
    )
    reset.set_defaults(run=reset_packages)
    reset.add_argument("kernel", help="kernel, such as tensorflow")
    again = actions.add_parser(
        "reinstall", help="install your packages again for a new release of a kernel"
    )
    again.add_argument("kernel", nargs="?", help="only this kernel, ir for R (default: all)")
    again.set_defaults(run=reinstall_packages)
    for word, text in (
        ("off", "start a kernel without your packages"),
        ("on", "start a kernel with your packages again"),
    ):
        switch = actions.add_parser(word, help=text)
        switch.add_argument("kernel", help="kernel, such as tensorflow")
        switch.set_defaults(run=switch_packages, is_off=word == "off")


def kernels(prefix: Path) -> list[Kernel]:
    """Return the kernels of the server's environment that take the user's packages, by name."""
    found = []
    for path in sorted(prefix.glob("share/jupyter/kernels/*/kernel.json")):
        spec = json.loads(path.read_text(encoding="utf-8"))
        release = spec.get("metadata", {}).get("packages_release")
        if release:
            variables = {k: v for k, v in spec.get("env", {}).items() if k != "PATH"}
            python = Path(spec["argv"][0])
            found.append(Kernel(path.parent.name, release, python, variables))
    return found


def print_packages(arguments: argparse.Namespace) -> int:
    """Print the user's packages by kernel and release."""
    n_shown = 0
    for kernel in _chosen(arguments.kernel):
        present = find_overlay(Path.home(), kernel.name, kernel.release)
        for overlay in list_overlays(Path.home(), kernel.name):
            packages = packages_in(overlay)
            if not packages and overlay == present and not overlay.is_off:
                continue
            n_shown += 1
            words = [f"{size_bytes(overlay.folder) / _BYTES_PER_MIB:.1f} MiB"]
            words += [] if overlay == present else ["of another release"]
            words += ["off"] if overlay.is_off else []
            print(f"{overlay.folder.name}: {', '.join(words)}")
            _print_each(packages)
    if not n_shown:
        print("You have installed no packages. In a cell: %pip install NAME")
    return 0


def run_pip(arguments: argparse.Namespace) -> int:
    """Run pip for the user's packages of a kernel."""
    (kernel,) = _chosen(arguments.kernel)
    make_overlay(kernel)
    overlay = find_overlay(Path.home(), kernel.name, kernel.release)
    return subprocess.run([overlay.pip, *arguments.words], check=False).returncode


def reset_packages(arguments: argparse.Namespace) -> int:
    """Remove all packages of a kernel, and print how to install them again."""
    (kernel,) = _chosen(arguments.kernel)
    overlays = list_overlays(Path.home(), kernel.name)
    packages = [package for overlay in overlays for package in packages_in(overlay)]
    for overlay in overlays:
        try:
            shutil.rmtree(overlay.folder)
        except OSError as error:
            raise PackagesError(
                f"{overlay.folder} cannot be removed: {error.strerror}. Remove it by hand."
            ) from error
    if overlays:
        # A running kernel starts its ranks with the interpreter in it.
        make_overlay(kernel)
    wanted = {package.any_version for package in packages if package.is_requested}
    names = ", ".join(package.name for package in packages) or "nothing"
    print(f"{kernel.name}: removed {names}. Restart the kernel.")
    if wanted:
        print(f"To have them again, in a cell: %pip install {_words(sorted(wanted))}")
    return 0


def reinstall_packages(arguments: argparse.Namespace) -> int:
    """Install the packages that the user requested in the newest other release of a kernel."""
    if arguments.kernel == r_library.KERNEL:
        _reinstall_r()
        return 0
    for kernel in _chosen(arguments.kernel):
        present = find_overlay(Path.home(), kernel.name, kernel.release)
        older = last_release(Path.home(), kernel.name, present)
        if older is None:
            print(f"{kernel.name}: no other release has packages of yours.")
            continue
        make_overlay(kernel)
        packages = requested_in(older)
        if not install_again(packages, partial(_pip_install, present), partial(print, flush=True)):
            raise PackagesError(
                f"pip could not install your packages for {kernel.name} {kernel.release}; the "
                "lines above say why. Install those you need one by one: %pip install NAME."
            )
        print(f"{kernel.name}: installed {join_names(packages)}. Restart the kernel.")
    if arguments.kernel is None and Path.home().joinpath("R").is_dir():
        _reinstall_r()
    return 0


def _reinstall_r() -> None:
    present = r_library.present_library()
    if present is None:
        raise PackagesError("R does not start here. Run this in a terminal of a session.")
    older = r_library.last_library(present)
    if older is None:
        print("R: no other version has packages of yours.")
        return
    names = sorted(set(r_library.packages_in(older)) - set(r_library.packages_in(present)))
    try:
        is_installed = not names or r_library.install_packages(names, present)
    except OSError as error:
        raise PackagesError(f"{present} cannot be written: {error.strerror}.") from error
    if not is_installed:
        raise PackagesError(
            f"R {present.name} could not install all your packages of R {older.name}; the lines "
            'above say why. Install those you need one by one: install.packages("NAME").'
        )
    print(f"R {present.name} has your packages of R {older.name}. Restart the kernel.")


def switch_packages(arguments: argparse.Namespace) -> int:
    """Let a kernel start without the user's packages, or with them again."""
    (kernel,) = _chosen(arguments.kernel)
    overlay = find_overlay(Path.home(), kernel.name, kernel.release)
    make_overlay(kernel)
    try:
        overlay.switch(is_off=arguments.is_off)
    except OSError as error:
        raise PackagesError(f"{overlay.folder} cannot be written: {error.strerror}.") from error
    state = "without" if arguments.is_off else "with"
    print(f"{kernel.name} starts {state} your packages from now on. Restart the kernel.")
    return 0


def _chosen(name: str | None) -> list[Kernel]:
    found = kernels(Path(sys.prefix))
    if not found:
        raise PackagesError(
            f"{sys.prefix} has no kernels. Run this in a terminal of a session of the portal."
        )
    chosen = [kernel for kernel in found if name in {None, kernel.name}]
    if not chosen:
        known = ", ".join(kernel.name for kernel in found)
        raise PackagesError(f"There is no kernel {name!r} with packages of yours. Choose: {known}.")
    return chosen


def make_overlay(kernel: Kernel) -> None:
    """Create or update the user's packages for a kernel."""
    # By the kernel's own interpreter, which knows its version of Python and its folders.
    argv = [str(kernel.python), "-I", "-m", "dsportal.packages.start", kernel.name, kernel.release]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PackagesError(
            f"~/{FOLDER} cannot be written: {done.stderr.strip()}. Make room in your home folder."
        )


def _pip_install(overlay: Overlay, requirements: Sequence[str]) -> bool:
    # pip would ask for the password of an index that wants one.
    argv = [str(overlay.pip), "install", "--no-input", *requirements]
    return subprocess.run(argv, check=False).returncode == 0


def _print_each(packages: Sequence[Package]) -> None:
    for package in packages:
        needed = "" if package.is_requested else "  (needed by another)"
        print(f"    {package.name} {package.version}{needed}")


def _words(requirements: Sequence[str]) -> str:
    return " ".join(_quoted(requirements))


def _quoted(requirements: Sequence[str]) -> Iterator[str]:
    return (f'"{word}"' if " " in word else word for word in requirements)
