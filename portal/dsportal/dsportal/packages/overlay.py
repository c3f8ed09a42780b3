"""A user's own packages for one kernel: a virtual environment on top of the shipped one.

Its sys.path continues with the shipped environment's, so pip finds what is shipped and installs the
rest here; its pip.conf keeps what is shipped at its version. It is made without venv and pip, in
milliseconds.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dsportal.packages import pip
from dsportal.whole_file import write_whole

FOLDER = Path(".local/share/data-scientist-portal/packages")
# Sorts last, so that what a package's .pth adds to sys.path comes before what is shipped.
_SHIPPED_PTH = "zz_data_scientist_portal.pth"
_OFF = "off"
_CHECKED = "checked"
_RENEWED = "renewed"
# Next to the interpreter, so that "!pip" in a cell is that of the kernel.
_PIP = '#!/bin/sh\nexec "$(dirname "$0")/python" -P {program} "$@"\n'
_PIP_CONF = "[install]\nconstraint = {address}\n"
_CONSTRAINTS = "constraints.txt"
# What builds packages from source; their recipes ask for versions of their own. And the portal's
# package, of which no kernel needs a part: the kernel Python 3 has it from the notebook server.
_UNCONSTRAINED = frozenset({"pip", "setuptools", "wheel", "data-scientist-portal"})
_SEPARATORS = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """The shipped environment below an overlay.

    Attributes:
        base: The interpreter that it was made from.
        version: Of Python, such as "3.11".
        site_packages: Without duplicates.
    """

    python: Path
    base: Path
    version: str
    site_packages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overlay:
    """The user's packages for a release of a kernel.

    Attributes:
        folder: The virtual environment, which may not exist yet.
    """

    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter that sees the packages."""
        return self.folder / "bin/python"

    @property
    def pip(self) -> Path:
        """The program that installs packages into it."""
        return self.folder / "bin/pip"

    @property
    def is_off(self) -> bool:
        """Whether the user has switched the packages off."""
        return (self.folder / _OFF).exists()

    def switch(self, *, is_off: bool) -> None:
        """Let the kernel start without the packages, or with them again.

        Raises:
            OSError: If the home cannot be written.
        """
        if is_off:
            (self.folder / _OFF).touch()
        else:
            (self.folder / _OFF).unlink(missing_ok=True)

    def site_packages(self) -> list[Path]:
        """Return the folders of the user's packages: one, or none before it is made."""
        return list(self.folder.glob("lib/python3*/site-packages"))

    def is_empty(self) -> bool:
        """Return whether nothing is installed."""
        entries = (entry for site in self.site_packages() for entry in site.iterdir())
        return all(entry.name in {_SHIPPED_PTH, "__pycache__"} for entry in entries)

    def fingerprint(self) -> str:
        """Return a text that changes with the user's packages or the shipped environment."""
        # Each package adds or removes entries of the folder, which changes its time.
        stamps = [site.stat().st_mtime_ns for site in self.site_packages()]
        return f"{stamps} {self._shipped_pth().read_text(encoding='utf-8')}"

    @property
    def is_checked(self) -> bool:
        """Whether a kernel has started with what is installed now."""
        try:
            return (self.folder / _CHECKED).read_text(encoding="utf-8") == self.fingerprint()
        except OSError:
            return False

    def remember_checked(self) -> None:
        """Record that a kernel starts with what is installed now.

        Raises:
            OSError: If the home cannot be written.
        """
        (self.folder / _CHECKED).write_text(self.fingerprint(), encoding="utf-8")

    def begin_renewal(self) -> bool:
        """Record that packages of the kernel's last release are being installed; False if twice.

        Nothing is recorded, and nothing should be installed, if the home cannot be written.
        """
        try:
            # Kernels may start at the same time: one of them makes the file.
            (self.folder / _RENEWED).touch(exist_ok=False)
        except OSError:
            return False
        return True

    @property
    def is_renewed(self) -> bool:
        """Whether packages of the kernel's last release were installed, or failed to be."""
        return (self.folder / _RENEWED).exists()

    def make(self, shipped: Shipped) -> None:
        """Create it if it does not exist, and update it if the shipped environment has changed.

        Raises:
            OSError: If the home is full or cannot be written.
        """
        if not self.python.is_symlink():
            self._make(shipped)
        for name, text in self._texts(shipped).items():
            path = self.folder / name
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                write_whole(path, text.encode(), mode=_mode(path))
        if os.readlink(self.python) != str(shipped.base):
            new = self.python.with_name(".python.new")
            new.unlink(missing_ok=True)
            new.symlink_to(shipped.base)
            new.replace(self.python)

    def _make(self, shipped: Shipped) -> None:
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made aside and renamed: two kernels may start at once, and a full home may stop it
        # half-way.
        new = self.folder.with_name(f".{self.folder.name}.{os.getpid()}")
        shutil.rmtree(new, ignore_errors=True)
        try:
            (new / f"lib/python{shipped.version}/site-packages").mkdir(parents=True)
            # As venv makes it, for what installs into lib64.
            (new / "lib64").symlink_to("lib")
            (new / "bin").mkdir()
            (new / "bin/python").symlink_to(shipped.base)
            for name in ("python3", f"python{shipped.version}"):
                (new / "bin" / name).symlink_to("python")
            for name, text in self._texts(shipped).items():
                write_whole(new / name, text.encode(), mode=_mode(new / name))
            try:
                new.rename(self.folder)
            except OSError:
                # Unless another kernel that started at the same time was faster.
                if not self.python.is_symlink():
                    raise
        finally:
            shutil.rmtree(new, ignore_errors=True)

    def _texts(self, shipped: Shipped) -> dict[str, str]:
        """Return the texts of its files, by name."""
        constraints = (self.folder / _CONSTRAINTS).as_uri()
        own = distributions_in(map(str, self.site_packages()))
        program = _PIP.format(program=shlex.quote(pip.__file__))
        return {
            f"lib/python{shipped.version}/site-packages/{_SHIPPED_PTH}": _pth(shipped),
            "pyvenv.cfg": _pyvenv(shipped),
            "pip.conf": _PIP_CONF.format(address=constraints),
            _CONSTRAINTS: _constraints(distributions_in(shipped.site_packages), own),
            "bin/pip": program,
            "bin/pip3": program,
        }

    def _shipped_pth(self) -> Path:
        sites = self.site_packages() or [self.folder]
        return sites[0] / _SHIPPED_PTH


def find_overlay(home: Path, kernel: str, release: str) -> Overlay:
    """Return the user's packages for a release of a kernel, whether they exist or not.

    The `release` is what packages must be compatible with, such as "2.21-py3.11".
    """
    return Overlay(home / FOLDER / f"{kernel}-{release}")


def list_overlays(home: Path, kernel: str) -> list[Overlay]:
    """Return the existing overlays of all releases of a kernel, the last changed first."""
    # A release begins with a digit, which keeps kernels apart whose names begin alike.
    found = (Overlay(path.parent) for path in (home / FOLDER).glob(f"{kernel}-[0-9]*/pyvenv.cfg"))
    # A user may have deleted a part of one by hand.
    changed = {one: site.stat().st_mtime for one in found for site in one.site_packages()}
    return sorted(changed, key=changed.__getitem__, reverse=True)


def this_environment() -> Shipped:
    """Return the environment of this interpreter."""
    folders = (sysconfig.get_path(name) for name in ("purelib", "platlib"))
    return Shipped(
        python=Path(sys.executable),
        # pyvenv.cfg has to name the interpreter itself: one environment does not extend another.
        base=Path(getattr(sys, "_base_executable", sys.executable)),
        version="{}.{}".format(*sys.version_info),
        site_packages=tuple(dict.fromkeys(folders)),
    )


def distributions_in(folders: Iterable[str]) -> dict[str, str]:
    """Return the versions of what is installed in folders, by normalized name.

    Source:
        https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    """
    # Only names of folders: metadata would mean hundreds of files on a network file system. A "~"
    # in front is left of a pip that was ended while it replaced the package.
    found = [
        path.stem.rpartition("-")
        for folder in folders
        for path in Path(folder).glob("[!~]*.dist-info")
    ]
    return {_SEPARATORS.sub("-", name).lower(): version for name, _, version in found if name}


def _constraints(shipped: dict[str, str], own: dict[str, str]) -> str:
    # What the user has replaced all the same stays replaced.
    kept = sorted(shipped.keys() - own.keys() - _UNCONSTRAINED)
    return "".join(f"{name}=={shipped[name]}\n" for name in kept)


def _mode(path: Path) -> int:
    return 0o777 if path.parent.name == "bin" else 0o666


def _pth(shipped: Shipped) -> str:
    # addsitedir instead of a bare path: it also reads the .pth files of the shipped packages.
    return "".join(
        f"import site; site.addsitedir({folder!r})\n" for folder in shipped.site_packages
    )


def _pyvenv(shipped: Shipped) -> str:
    return (
        f"home = {shipped.base.parent}\n"
        "include-system-site-packages = false\n"
        f"version = {shipped.version}\n"
    )
