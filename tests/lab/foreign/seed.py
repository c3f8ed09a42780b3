"""What this machine has built already, where a site wants it: nothing is downloaded or copied.

Each environment is a layer over the one of this machine. Built anew they take minutes and
gigabytes, and say nothing more about the installation; `tests/run site-frameworks -- --fresh` does
that.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from deploy.environments.builder.choices import kept_flavour
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.target import is_current
from deploy.environments.builder.targets import BY_NAME
from deploy.site.installer.command import package_version
from tests.lab.foreign.machine import Machine

HUB_PREFIX = "/opt/data-scientist-portal"
# Where init.py shows what this machine has built.
BUILT = PurePosixPath("/built/portal")
BUILT_STORAGE = PurePosixPath("/built/storage")
# Changes of the layers; a layer cannot be kept in another one.
LAYERS = PurePosixPath("/built/layers")
OF_HUB = ("uv", "hub", "node", "proxy")
OF_SESSIONS = ("uv", "server", "tensorboard", "node", "datasets")
FRAMEWORKS = ("tensorflow", "pytorch", "horovod")
# Part of the environments of others, or no environment.
WITHOUT_ENVIRONMENT = ("horovod", "node", "proxy", "datasets")


def seed(machine: Machine, shared: str, *, has_frameworks: bool) -> bool:
    """Put what is current here where the installer would build it.

    Args:
        machine: The foreign machine, before its nodes start: they would not see it.

    Returns:
        Whether all was current; if not, nothing is done and the installer builds it.
    """
    here = Plan()
    plan = Plan(flavour=kept_flavour(here.prefix))
    of_sessions = (*OF_SESSIONS, *(FRAMEWORKS if has_frameworks else ()))
    if not all(is_current(BY_NAME[name], plan) for name in (*OF_HUB, *of_sessions)):
        return False
    _seed_prefix(machine, plan, f"{HUB_PREFIX}/{package_version()}", OF_HUB)
    sessions = f"{shared}/{package_version()}"
    _seed_prefix(machine, plan, sessions, of_sessions)
    (machine.root / sessions.lstrip("/") / "datasets").mkdir()
    machine.run("cp", "-r", f"{BUILT_STORAGE}/datasets/mnist", f"{sessions}/datasets")
    return True


def make_room(machine: Machine) -> None:
    """Make room for the changes of layers, once in a machine."""
    machine.run("mkdir", "-p", str(LAYERS))
    machine.run("mount", "-t", "tmpfs", "-o", "size=4g", "tmpfs", str(LAYERS))


def add_own_environment(machine: Machine, path: str) -> None:
    """Make an environment that the site has beside the portal: TensorFlow with ipykernel."""
    add_layer(machine, str(BUILT / "environments/tensorflow"), path)
    # Nobody has them unasked.
    uninstall = ("-m", "pip", "uninstall", "-q", "-y", "data_scientist_portal", "horovod")
    machine.run(f"{path}/bin/python", *uninstall)


def _seed_prefix(machine: Machine, plan: Plan, prefix: str, targets: Sequence[str]) -> None:
    stamps = machine.root / prefix.lstrip("/") / "stamps"
    stamps.mkdir(parents=True)
    for name in targets:
        shutil.copyfile(plan.stamps_dir / name, stamps / name)
    folders = [f"environments/{name}" for name in targets if name not in WITHOUT_ENVIRONMENT]
    if "node" in targets and plan.environment("node").exists():
        # This machine has no Node.js of its own, or an older one.
        folders.append("environments/node")
    # The one with which the installer builds our own package.
    folders += ["environments/package", *(name for name in ("node", "proxy") if name in targets)]
    for folder in folders:
        add_layer(machine, str(BUILT / folder), f"{prefix}/{folder}")
        move_paths(machine.root / f"{prefix}/{folder}".lstrip("/"), str(plan.prefix), prefix)


def add_layer(machine: Machine, below: str, path: str) -> None:
    """Show a folder at another path, where it can be changed."""
    name = path.strip("/").replace("/", "-")
    upper, work = f"{LAYERS}/{name}/upper", f"{LAYERS}/{name}/work"
    machine.run("mkdir", "-p", upper, work, path)
    options = f"lowerdir={below},upperdir={upper},workdir={work}"
    machine.run("mount", "-t", "overlay", "-o", options, "overlay", path)


def take_layers_away(machine: Machine, folder: str) -> None:
    """Leave only what is no layer below a folder, which can then be removed."""
    listed = ("findmnt", "--raw", "--noheadings", "--types", "overlay", "--output", "TARGET")
    for path in machine.run(*listed).stdout.split():
        if path.startswith(f"{folder}/"):
            # Programs that run from there end with their last file.
            machine.run("umount", "--lazy", path)


def move_paths(folder: Path, old: str, new: str) -> None:
    """Let the programs of an environment name their new place; its kernels are described again."""
    shutil.rmtree(folder / "share/jupyter/kernels", ignore_errors=True)
    for path in (*folder.glob("bin/*"), folder / "pyvenv.cfg"):
        if path.is_symlink() and str(path.readlink()).startswith(f"{old}/"):
            link = str(path.readlink()).replace(old, new, 1)
            path.unlink()
            path.symlink_to(link)
        elif path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if old.encode() in content and b"\0" not in content:
                path.write_bytes(content.replace(old.encode(), new.encode()))
