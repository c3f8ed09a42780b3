"""The commands `dsportal environments new`, `update` and `export`."""

import argparse
import contextlib
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dsportal.packages.start import ENVIRONMENT
from portal.confirmation import Commands
from portal.environments.entry import Environment
from portal.environments.errors import RegistryError
from portal.environments.locked import (
    Base,
    export_locked,
    make_locked,
    requirements_text,
    update_locked,
)
from portal.environments.probe import probe_node, try_environment
from portal.environments.record import is_locked, read_like
from portal.environments.registry import (
    OWN_PATH,
    add_entry,
    change_entry,
    check_entry,
    read_registry,
    site_path,
)
from portal.environments.sharing import closed_folder, group_id, group_name
from portal.environments.shipped import shipped_environment
from portal.environments.uv import uv_here
from portal.packages.cli import Kernel, kernels

OWN_ENVIRONMENTS = Path(".local/share/data-scientist-portal/environments")


class IntermixedParser(argparse.ArgumentParser):
    """A parser that takes options between a name and the packages that follow it."""

    _is_parsing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse what the parser above has left over, as `parse_known_intermixed_args` does."""
        # In some versions of Python that method calls this one.
        if self._is_parsing:
            return super().parse_known_args(args, namespace)
        self._is_parsing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_parsing = False


def add_new_commands(actions: Commands) -> None:
    """Add the commands to `actions`, the subparsers of `dsportal environments`."""
    new = actions.add_parser("new", help="make an environment with packages of your choice")
    new.add_argument("id", metavar="NAME", help="short name in small letters")
    new.add_argument(
        "packages", nargs="*", metavar="PACKAGE", help="package, such as einops or 'keras<4'"
    )
    new.add_argument("--like", metavar="KERNEL", help="kernel to start from, such as pytorch")
    new.add_argument(
        "--python", metavar="VERSION", help="Python version, such as 3.12 (default: the portal's)"
    )
    new.add_argument(
        *("-r", "--requirements"),
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="file of packages, as for pip",
    )
    new.add_argument(
        "--folder",
        type=Path,
        metavar="FOLDER",
        help=f"parent folder (default: ~/{OWN_ENVIRONMENTS})",
    )
    new.add_argument(
        "--share",
        nargs="?",
        const="",
        metavar="GROUP",
        help="group that may use it (without a name: the group of the folder)",
    )
    new.add_argument("--name", help="name in the launcher")
    new.set_defaults(run=make_environment)
    update = actions.add_parser(
        "update", help="install newer versions into an environment made by 'new'"
    )
    update.add_argument("id", metavar="NAME", help="short name of the environment")
    update.add_argument("packages", nargs="*", metavar="PACKAGE", help="further packages to add")
    update.set_defaults(run=update_environment)
    export = actions.add_parser(
        "export", help="print the packages of an environment with their versions"
    )
    export.add_argument("id", metavar="NAME", help="short name of the environment")
    export.set_defaults(run=export_environment)


def make_environment(arguments: argparse.Namespace) -> int:
    """Make a locked environment, and add it to the user's registry."""
    path = Path.home() / OWN_PATH
    parent: Path = arguments.folder or Path.home() / OWN_ENVIRONMENTS
    # Without links: one from the user's home would lead nobody else there.
    folder = parent.expanduser().resolve() / arguments.id
    table: dict[str, Any] = {"virtualenv": str(folder)}
    table |= {"name": arguments.name} if arguments.name else {}
    table |= variables_like(arguments.like)
    environment = check_entry(path, arguments.id, table, is_own=True)
    requirements = requirements_text(arguments.requirements, arguments.packages)
    base = _base(arguments.like, arguments.python)
    group = None if arguments.share is None else group_id(arguments.share, folder)
    uv = uv_here()
    print(f"Making {folder}.", flush=True)
    with interrupted_by(signal.SIGTERM, signal.SIGHUP):
        make_locked(folder, requirements, base, uv, group=group)
        try:
            print("Trying the kernel.", flush=True)
            add_entry(path, arguments.id, table | {"packages": _tried(environment)}, is_own=True)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    if group is not None:
        tell_group(folder, group)
    print(
        f"{arguments.id}: works on this machine. Running sessions offer it as a kernel within a "
        "minute."
    )
    return 0


def tell_group(folder: Path, group: int) -> None:
    """Print how the members of a group take an environment, and what keeps them out of it."""
    name = group_name(group)
    print(f"Others in the group {name} take it with: dsportal environments add {folder}")
    for path in (folder, folder / "bin/python"):
        if (closed := closed_folder(path, group)) is not None:
            print(
                f"But they cannot enter {closed}. Run: chmod g+x {closed}, or make the environment "
                "in a folder of the group."
            )
            return


@contextlib.contextmanager
def interrupted_by(*signals: signal.Signals) -> Iterator[None]:
    """Let a closed terminal or a session's end interrupt this, so that what is half-made goes."""
    before = [(one, signal.signal(one, signal.default_int_handler)) for one in signals]
    try:
        yield
    finally:
        for one, handler in before:
            signal.signal(one, handler)


def update_environment(arguments: argparse.Namespace) -> int:
    """Install the newest versions of what a locked environment requires."""
    environment = own_environment(arguments.id)
    folder = environment.path
    if folder is None or not is_locked(folder):
        raise RegistryError(
            f"{arguments.id} was not made by 'dsportal environments new', so it is for you to "
            "update, with the pip or conda of its own."
        )
    like = read_like(folder)
    base = _base(like, None)

    def check() -> list[str]:
        print("Trying the kernel.", flush=True)
        return _tried(environment)

    with interrupted_by(signal.SIGTERM, signal.SIGHUP):
        packages = update_locked(folder, arguments.packages, base, uv_here(), check)
    path = Path.home() / OWN_PATH
    change_entry(path, arguments.id, {"packages": packages, **variables_like(like)})
    print(f"{arguments.id}: updated. Restart its kernels.")
    return 0


def export_environment(arguments: argparse.Namespace) -> int:
    """Print the packages of an environment as a requirements file."""
    print(export_text(arguments.id), end="")
    return 0


def export_text(id_: str) -> str:
    """Return the packages of an environment of the user's as a requirements file."""
    environment = own_environment(id_)
    if environment.path is None or not is_locked(environment.path):
        return "".join(f"{package}\n" for package in _tried(environment))
    like = read_like(environment.path)
    first = f"# On top of the kernel {like}: dsportal environments new NAME --like {like} -r FILE\n"
    return (first if like else "") + export_locked(environment.path)


def own_environment(id_: str) -> Environment:
    """Return an environment of the user's by its short name."""
    own = [one for one in read_registry(site_path(), Path.home()).environments if one.is_own]
    found = next((one for one in own if one.id == id_), None)
    if found is None:
        known = ", ".join(one.id for one in own) or "none"
        raise RegistryError(f"You have no environment '{id_}'. There are: {known}.")
    return found


def _tried(environment: Environment) -> list[str]:
    trial = try_environment(environment, probe_node())
    if trial.problem:
        raise RegistryError(f"{environment.id} does not work. {trial.problem}")
    return list(trial.packages or ())


def _base(like: str | None, python: str | None) -> Base:
    if not like:
        own: str = getattr(sys, "_base_executable", sys.executable)
        return Base(like="", python=python or own)
    kernel = _kernel(like)
    version = shipped_environment(kernel.python).version
    if python not in {None, version}:
        raise RegistryError(
            f"The kernel {like} has Python {version}, not {python}. Leave out --python, or --like."
        )
    return Base(like=like, python=str(kernel.python))


def variables_like(like: str | None) -> dict[str, dict[str, str]]:
    """Return the key of the registry that makes a kernel behave like the shipped one."""
    if not like:
        return {}
    kernel = _kernel(like)
    prefix = str(kernel.python.parent.parent)
    return {"variables": {**kernel.variables, ENVIRONMENT: prefix}}


def _kernel(name: str) -> Kernel:
    found = {kernel.name: kernel for kernel in kernels(Path(sys.prefix))}
    if name not in found:
        known = ", ".join(found) or "none. Run this in a terminal of a session"
        raise RegistryError(
            f"There is no shipped kernel {name!r:.60} of Python. There are: {known}."
        )
    return found[name]
