"""The commands `dsportal environments add`, `list`, `check` and `remove`."""

import argparse
import contextlib
import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

from portal.confirmation import Commands, add_yes, confirm
from portal.environments.entry import Environment, Kind
from portal.environments.errors import RegistryError
from portal.environments.image import (
    NGC_USER,
    OWN_FOLDER,
    Login,
    is_source,
    make_image,
    parse_source,
    read_key,
)
from portal.environments.image_kernel import ensure_kernel
from portal.environments.languages import LANGUAGES
from portal.environments.new_commands import (
    IntermixedParser,
    add_new_commands,
    interrupted_by,
    variables_like,
)
from portal.environments.own import delete, files_made_here, kernel_folder, size_mib
from portal.environments.probe import EnvironmentTrial, probe_node, try_environment
from portal.environments.record import is_locked, read_like
from portal.environments.registry import (
    OWN_PATH,
    SITE_PATH,
    add_entry,
    check_entry,
    read_registry,
    remove_entry,
    site_path,
)
from portal.environments.share_commands import add_share_commands


def add_commands(commands: Commands) -> None:
    """Add `environments` to `commands`, the subparsers of `dsportal`."""
    parser = commands.add_parser("environments", help="kernels of the site's and your environments")
    actions = parser.add_subparsers(required=True, metavar="ACTION", parser_class=IntermixedParser)
    _describe_add(actions.add_parser("add", help="offer another environment as a kernel"))
    listing = actions.add_parser("list", help="print all environments")
    listing.set_defaults(run=print_environments)
    check = actions.add_parser("check", help="start each environment on this machine")
    check.add_argument("id", nargs="?", help="only this environment")
    check.set_defaults(run=check_environments)
    remove = actions.add_parser("remove", help="remove one of your own environments")
    remove.add_argument("id", help="short name of the environment")
    add_yes(remove)
    remove.set_defaults(run=remove_environment)
    add_new_commands(actions)
    add_share_commands(actions)


def _describe_add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", help="short name in small letters, or path of an environment or image"
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--virtualenv", metavar="FOLDER", help="a virtual environment")
    place.add_argument("--conda", metavar="FOLDER", help="a conda environment")
    place.add_argument("--modules", nargs="+", metavar="MODULE", help="modules to load, in order")
    place.add_argument(
        "--image",
        metavar="IMAGE",
        help="an Apptainer or Singularity image file, "
        "or a source to build one from: docker://..., oci:FOLDER, docker-archive:FILE",
    )
    place.add_argument("--interpreter", metavar="FILE", help="any other interpreter")
    parser.add_argument("--name", help="name in the launcher")
    parser.add_argument("--language", choices=LANGUAGES, help="language of the kernel")
    parser.add_argument(
        "--program", help="interpreter inside the environment (default: the language's)"
    )
    parser.add_argument("--logo", metavar="FILE", help="icon in the launcher, PNG or SVG")
    parser.add_argument(
        "--binds", nargs="+", metavar="FOLDER", help="folders to make visible in the image"
    )
    parser.add_argument(
        "--site",
        action="store_true",
        help=f"add it for all users, in {SITE_PATH} (default: for you)",
    )
    parser.add_argument("--untried", action="store_true", help="do not try it on this machine")
    _describe_image(parser.add_argument_group("images made from a container"))
    parser.set_defaults(run=add_environment)


def _describe_image(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--into",
        metavar="FOLDER",
        type=Path,
        help=f"folder for the image file (default: ~/{OWN_FOLDER}, required with --site)",
    )
    group.add_argument(
        "--registry-key", metavar="FILE", type=Path, help="file with your key, mode 0600"
    )
    group.add_argument(
        "--registry-user",
        metavar="NAME",
        default=NGC_USER,
        help="user of the registry (default: %(default)s, for NVIDIA's)",
    )


def add_environment(arguments: argparse.Namespace) -> int:
    """Try an environment and, if it works here, add it to a registry."""
    keys = (*(kind.value for kind in Kind), "name", "language", "program", "logo", "binds")
    table = {key: value for key in keys if (value := getattr(arguments, key)) is not None}
    if not {kind.value for kind in Kind} & set(table):
        arguments.id, kind, place = _find_place(arguments.id)
        table |= {kind.value: str(place)}
    folder = Path(table.get("virtualenv", "")).expanduser()
    # Outside of a session no kernel is known; its packages are found all the same.
    with contextlib.suppress(RegistryError):
        if "virtualenv" in table and is_locked(folder):
            table |= variables_like(read_like(folder))
    path = site_path() if arguments.site else Path.home() / OWN_PATH
    made = ""
    if is_source(table.get("image", "")):
        source, table["image"] = parse_source(table["image"]), str(_image_file(arguments))
        # Checked before the image is made, which takes minutes.
        check_entry(path, arguments.id, table, is_own=not arguments.site)
        login = _login(arguments)
        with interrupted_by(signal.SIGTERM, signal.SIGHUP):
            make_image(probe_node().container, source, Path(table["image"]), login)
        made = f" The image is kept: next time add the file {table['image']}."
    environment = check_entry(path, arguments.id, table, is_own=not arguments.site)
    if not arguments.untried:
        beside = kernel_folder(environment, Path.home())
        try:
            table |= _tried(path, environment, table, beside)
        except RegistryError as error:
            raise RegistryError(f"{arguments.id} was not added. {error.message}{made}") from error
    add_entry(path, arguments.id, table, is_own=not arguments.site)
    works = "" if arguments.untried else f"{arguments.id}: works on this machine.\n"
    print(f"{works}Added to {path}. Running sessions offer it within a minute, if it works there.")
    return 0


def _find_place(text: str) -> tuple[str, Kind, Path]:
    """Return a short name for an environment at a path, and what is there."""
    if "/" not in text:
        raise RegistryError(
            f"Say where {text!r:.60} is: dsportal environments add PATH, or {text} with one of "
            f"{', '.join(f'--{kind.value}' for kind in Kind)}."
        )
    path = Path(text).expanduser().absolute()
    stem = path.stem if path.suffix in {".sif", ".simg"} else path.name
    id_ = re.sub(r"[^a-z0-9._-]+", "-", stem.lower()).lstrip("._-")
    # First, since a conda environment may hold a pyvenv.cfg, too.
    if os.path.isdir(path / "conda-meta"):
        return id_, Kind.CONDA, path
    if os.path.isfile(path / "pyvenv.cfg") or is_locked(path):
        return id_, Kind.VIRTUALENV, path
    if os.path.isfile(path):
        return id_, Kind.IMAGE, path
    raise RegistryError(
        f"{path} is neither a virtual or conda environment nor an image, or cannot be read. Name "
        "the folder that holds its bin, or an image file."
    )


def _tried(
    path: Path, environment: Environment, table: dict[str, Any], beside: Path
) -> dict[str, Any]:
    """Return the keys that only a trial can tell; what an image lacks goes into `beside`."""
    node, keys = probe_node(), {}
    if ensure_kernel(environment, node, beside):
        keys["kernel_packages"] = str(beside)
        environment = check_entry(path, environment.id, table | keys, is_own=environment.is_own)
    print("Trying the kernel.", flush=True)
    trial = try_environment(environment, node)
    if trial.problem:
        if keys:
            shutil.rmtree(beside, ignore_errors=True)
        raise RegistryError(
            f"{trial.problem} If it works on other nodes only, add it with --untried."
        )
    # Templates choose a kernel by its packages.
    return keys | ({} if trial.packages is None else {"packages": list(trial.packages)})


def _image_file(arguments: argparse.Namespace) -> Path:
    if arguments.site and arguments.into is None:
        raise RegistryError(
            "An image for everybody goes to a folder that all nodes see. Name it with --into."
        )
    folder: Path = arguments.into or Path.home() / OWN_FOLDER
    return folder.absolute() / f"{arguments.id}.sif"


def _login(arguments: argparse.Namespace) -> Login | None:
    if arguments.registry_key is None:
        return None
    return Login(user=arguments.registry_user, key=read_key(arguments.registry_key))


def print_environments(_: argparse.Namespace) -> int:
    """Print a line for each environment."""
    registry = read_registry(site_path(), Path.home())
    for environment in registry.environments:
        owner = "own" if environment.is_own else "site"
        place = environment.path or " ".join(environment.modules)
        size = _size(environment)
        print(f"{owner:5}{environment.id:20} {environment.kind.value:12} {place}{size}")
    for sentence in registry.problems:
        print(sentence)
    if not (registry.environments or registry.problems):
        print("None besides the portal's own kernels. To add one: dsportal environments add ID ...")
    return int(bool(registry.problems))


def _size(environment: Environment) -> str:
    # What belongs to the site is not the user's to free.
    if not environment.is_own or environment.path is None:
        return ""
    if not os.path.exists(environment.path):
        return "  is gone"
    size = size_mib(environment)
    return "" if size is None else f"  {size:.1f} MiB"


def remove_environment(arguments: argparse.Namespace) -> int:
    """Remove one of the user's own environments, and its files if this command made them."""
    registry = read_registry(site_path(), Path.home())
    path = Path.home() / OWN_PATH
    found = [e for e in registry.environments if e.id == arguments.id]
    own = next((e for e in found if e.is_own), None)
    if own is None and found:
        raise RegistryError(
            f"'{arguments.id}' belongs to the site. Ask the administrators to remove it."
        )
    files = () if own is None else files_made_here(own, Path.home())
    if own is not None:
        what = f" and delete {' and '.join(map(str, files))}" if files else ""
        confirm(f"Remove the environment {own.id}{what}", yes=arguments.yes)
    # The entry last: what was interrupted is finished by the same command.
    for one in files:
        delete(one)
    remove_entry(path, arguments.id)
    kept = own.path if own is not None and own.path not in files else None
    print(f"Removed {arguments.id}.{f' {kept} was kept.' if kept else ''}")
    return 0


def check_environments(arguments: argparse.Namespace) -> int:
    """Try one environment or all of them on this machine."""
    registry = read_registry(site_path(), Path.home())
    wanted = [e for e in registry.environments if arguments.id in {None, e.id}]
    if arguments.id is not None and not wanted:
        known = ", ".join(e.id for e in registry.environments) or "none"
        raise RegistryError(f"There is no environment '{arguments.id}'. There are: {known}.")
    for sentence in registry.problems:
        print(sentence)
    node = probe_node()
    statuses = [_report(environment, try_environment(environment, node)) for environment in wanted]
    return max([*statuses, int(bool(registry.problems))])


def _report(environment: Environment, trial: EnvironmentTrial) -> int:
    print(f"{environment.id}: {trial.problem or 'works on this machine.'}")
    if trial.problem and environment.path is not None and is_locked(environment.path):
        print(f"If its kernel has a new release: dsportal environments update {environment.id}")
    return int(bool(trial.problem))
