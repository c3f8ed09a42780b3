"""The command `dsportal activate`, by which `source dsportal-activate KERNEL` changes a shell."""

import argparse
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dsportal.packages.overlay import find_overlay
from dsportal.packages.start import ENVIRONMENT, KERNEL, SWITCH
from dsportal.slurm.errors import PortalError
from portal.environments.command import variables
from portal.environments.entry import Environment, Kind
from portal.environments.probe import probe_node, quick_problem
from portal.environments.registry import read_registry, site_path
from portal.packages import cli as packages

SCRIPT = "dsportal-activate"
# Kernelspecs of environments, below the home: a job's own folder would be left on its node.
KERNELS = Path(".cache/data-scientist-portal/kernels")


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """What a shell needs to run the Python of a kernel.

    Attributes:
        name: The kernel's short name.
        folders: Go to the front of PATH, in this order.
        variables: Are exported.
        enter: Shell lines that run afterwards.
        leave: Shell lines that undo these.
    """

    name: str
    folders: tuple[Path, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    enter: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()


def add_commands(commands: Any) -> None:
    """Add `activate` to `commands`, the subparsers of `dsportal`."""
    parser = commands.add_parser(
        "activate",
        help=f"use a kernel's python in a terminal or a job script: source {SCRIPT} KERNEL",
        description="Prints the shell commands that make python that of a kernel. In a terminal or "
        f"a job script use: source {SCRIPT} KERNEL. The command deactivate undoes it",
    )
    parser.add_argument("kernel", nargs="?", default="", help="kernel, such as pytorch")
    parser.set_defaults(run=print_activation)


def print_activation(arguments: argparse.Namespace) -> int:
    """Print the shell lines."""
    activation = find_activation(arguments.kernel)
    named = {**activation.variables, **_kernels_by_name()}
    activation = replace(activation, variables=named)
    if sys.stdout.isatty():
        raise PortalError(
            f"A program cannot change its shell. Let the shell do it: source {SCRIPT} "
            f"{activation.name}"
        )
    print(render_activation(activation, os.environ), end="")
    return 0


def _kernels_by_name() -> dict[str, str]:
    """Return what lets papermill and the like find every kernel of a session by its name."""
    if not (Path(sys.prefix) / "share/jupyter/kernels").is_dir():
        return {}
    # The head node's environment has no Jupyter kernels.
    from portal.batch import kernels

    try:
        offered = kernels.offer_kernels(Path.home() / KERNELS, os.environ, probe_node())
    except OSError as error:
        print(f"{error.filename}: {error.strerror}. Programs find no kernels.", file=sys.stderr)
        return {}
    return {kernels.VARIABLE: offered}


def find_activation(name: str) -> Activation:
    """Return what a shell needs for a shipped kernel or an environment of the registry."""
    shipped = {kernel.name: kernel for kernel in packages.kernels(Path(sys.prefix))}
    registered = {one.id: one for one in read_registry(site_path(), Path.home()).environments}
    if name in shipped:
        return _of_shipped(shipped[name])
    if name in registered:
        return _of_registered(registered[name])
    known = ", ".join([*shipped, *(one for one in registered if one not in shipped)])
    said = f"There is no kernel {name!r}." if name else "Which kernel?"
    choice = f"Choose: {known}." if known else "Run this in a session of the portal."
    raise PortalError(f"{said} {choice}")


def render_activation(activation: Activation, environ: Mapping[str, str]) -> str:
    """Return the lines that activate it in bash or zsh, and define `deactivate`.

    Args:
        activation: What to activate.
        environ: The shell's environment before.
    """
    path = ":".join([*map(str, activation.folders), environ.get("PATH", os.defpath)])
    new = {**activation.variables, KERNEL: activation.name, "PATH": path}
    before = {name: environ.get(name) for name in new}
    undo = [
        _export(name, value) if value is not None else f"unset {name}"
        for name, value in before.items()
    ]
    lines = [
        "deactivate() {",
        *(f"    {line}" for line in (*activation.leave, *undo)),
        '    if [ -n "${_DSPORTAL_PS1+x}" ]; then PS1=$_DSPORTAL_PS1; unset _DSPORTAL_PS1; fi',
        "    unset -f deactivate",
        "}",
        *(_export(name, value) for name, value in new.items()),
        *activation.enter,
        # Only shells that somebody types into have it.
        'if [ -n "${PS1-}" ]; then',
        f"    _DSPORTAL_PS1=$PS1; PS1={shlex.quote(f'({activation.name}) ')}$PS1",
        "fi",
    ]
    return "\n".join(lines) + "\n"


def _of_shipped(kernel: packages.Kernel) -> Activation:
    folders = [Path(sys.prefix) / "commands", kernel.python.parent]
    own = {**kernel.variables, ENVIRONMENT: str(kernel.python.parent.parent)}
    overlay = find_overlay(Path.home(), kernel.name, kernel.release)
    if os.environ.get(SWITCH) != "off":
        try:
            packages.make_overlay(kernel)
        except packages.PackagesError as error:
            # As the kernel, which starts without them.
            print(f"{error} Until then {kernel.name} has no packages of yours.", file=sys.stderr)
        if overlay.python.exists() and not overlay.is_off:
            folders.insert(0, overlay.python.parent)
            own["VIRTUAL_ENV"] = str(overlay.folder)
    return Activation(name=kernel.name, folders=tuple(folders), variables=own)


def _of_registered(environment: Environment) -> Activation:
    node = probe_node()
    if environment.kind is Kind.IMAGE:
        program = node.container or "apptainer"
        raise PortalError(
            f"{environment.id} is an image, which a shell cannot activate. Run programs in it: "
            f"{program} exec {environment.path} python3 SCRIPT"
        )
    if problem := quick_problem(environment, node):
        raise PortalError(f"{environment.id} does not work here. {problem}")
    own = {k: v for k, v in variables(environment, path="").items() if k != "PATH"}
    folder = environment.path
    match environment.kind:
        case Kind.MODULES:
            init = f"typeset -f module >/dev/null || . {shlex.quote(str(node.module_init))}"
            load = (f"module load {shlex.quote(one)} || return 1" for one in environment.modules)
            back = (f"module unload {shlex.quote(one)}" for one in reversed(environment.modules))
            return Activation(
                name=environment.id, variables=own, enter=(init, *load), leave=tuple(back)
            )
        case Kind.CONDA:
            scripts = (
                f"for _dsportal_script in {shlex.quote(f'{folder}/etc/conda/activate.d')}/*.sh; do"
            )
            read = '    if [ -r "$_dsportal_script" ]; then . "$_dsportal_script"; fi'
            enter: tuple[str, ...] = (scripts, read, "done")
        case _:
            enter = ()
    bin_dir = Path(f"{folder}/bin")
    if environment.kind is Kind.INTERPRETER and folder is not None:
        bin_dir = folder.parent
    return Activation(name=environment.id, folders=(bin_dir,), variables=own, enter=enter)


def _export(name: str, value: str) -> str:
    return f"export {name}={shlex.quote(value)}"
