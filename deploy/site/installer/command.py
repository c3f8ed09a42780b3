"""The command line of deploy/site/install."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from deploy.common.accounts import render_sudoers
from deploy.common.command import run
from deploy.common.errors import DeployError, report_failure
from deploy.common.files import read_plain
from deploy.environments.builder import cuda
from deploy.environments.builder.package_sources import package_sources
from deploy.environments.builder.plan import Flavour
from deploy.site.installer.environments import Environments, list_environments
from deploy.site.installer.pieces import (
    Piece,
    account,
    file,
    folder,
    link,
    log_file,
    sudoers,
    users_group,
)
from deploy.site.installer.requirements import COMMAND, python_for, refuse_lacks
from deploy.site.installer.site import MARK, Site
from deploy.site.installer.texts import (
    LOGS,
    first_secrets,
    first_settings,
    next_steps,
    render_units,
    text_of,
)
from spawner.account_names import objection

SOURCE_DIR = Path(__file__).resolve().parents[3]
# These go into paths, units and rules of sudo: no blanks, slashes or commas.
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}", re.ASCII)
SLURM_VARIABLES = Path("/etc/data-scientist-portal/slurm.env")


def main(argv: Sequence[str]) -> int:
    """Install the portal on this host, or print what would be done.

    Returns:
        Exit status: 0 if all is in place; 1 if something failed; 2 if --check found something to
        do; 130 if interrupted.
    """
    wanted = parse_arguments(argv)
    # Users run what root installs here, whatever root's own umask is.
    os.umask(0o022)
    try:
        site = requested_site(wanted)
        refuse_lacks(site.python, root_needed=not wanted.check)
        package_sources(os.environ)
        pieces = list_pieces(site)
        return _show(pieces) if wanted.check else _install(site, pieces)
    except (DeployError, OSError) as error:
        return report_failure(error, COMMAND)
    except KeyboardInterrupt:
        print(f"\nInterrupted. Run {COMMAND} again to continue.", file=sys.stderr)
        return 130


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="Install the portal on a host of an existing cluster. It writes only files of "
        "its own; run again, it changes nothing that is in place.",
    )
    add = parser.add_argument
    add("--check", action="store_true", help="only say what would be done")
    add(
        "--shared",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder that the nodes see under the same path, for the sessions' environments",
    )
    add("--users-group", required=True, metavar="GROUP", help="UNIX group of the portal's users")
    add("--slurm-user", default="slurm", metavar="NAME", help="SlurmUser (default: %(default)s)")
    add("--version", default="", metavar="NAME", help="name of this version's folders")
    add(
        "--slurm-conf",
        type=Path,
        metavar="FILE",
        help="the cluster's slurm.conf (default: $SLURM_CONF, else Slurm's own default)",
    )
    add(
        "--python",
        type=Path,
        metavar="PATH",
        help="interpreter, at this path on the nodes, too (default: as now, else /usr/bin/python3)",
    )
    add(
        "--cpu",
        action="store_true",
        help="TensorFlow and PyTorch without the CUDA libraries, for nodes without GPUs",
    )
    add("--with-code-server", action="store_true", help="install VS Code for sessions, too")
    frameworks = parser.add_mutually_exclusive_group()
    frameworks.add_argument("--with-horovod", action="store_true", help="compile Horovod, too")
    frameworks.add_argument(
        "--with-mpi", action="store_true", help="compile Horovod with MPI as well as Gloo"
    )
    add(
        "--cuda",
        type=Path,
        metavar="DIR",
        help="CUDA toolkit to compile Horovod with, such as /usr/local/cuda (default: NVIDIA's "
        "compiler from the Python package index)",
    )
    frameworks.add_argument(
        "--without-frameworks",
        action="store_true",
        help="install neither TensorFlow nor PyTorch; the site's own become kernels by "
        "environments.toml",
    )
    return parser.parse_args(argv)


def requested_site(wanted: argparse.Namespace) -> Site:
    """Return the installation that a command line asks for."""
    version = wanted.version or package_version()
    is_bad = {version: not VERSION.fullmatch(version)}
    is_bad |= {name: bool(objection(name)) for name in (wanted.users_group, wanted.slurm_user)}
    for word in filter(is_bad.get, is_bad):
        raise DeployError(f"{word!r} cannot be a name here.", next_step="Use letters and digits.")
    # Names with another meaning in the folder of versions.
    if version in {"current", "libexec", "environments"}:
        raise DeployError(f"A version cannot be called {version}.", next_step="Name it otherwise.")
    if not wanted.shared.is_absolute() or not wanted.shared.parent.is_dir():
        raise DeployError(
            f"{wanted.shared} is not an absolute path in an existing folder.",
            next_step="Name a folder of the file system that all nodes mount.",
        )
    return Site(
        version=version,
        shared=wanted.shared,
        users_group=wanted.users_group,
        slurm_user=wanted.slurm_user,
        with_horovod=wanted.with_horovod or wanted.with_mpi,
        with_mpi=wanted.with_mpi,
        with_code_server=wanted.with_code_server,
        # Not what suits this host: the GPUs are in the nodes.
        flavour=Flavour.CPU if wanted.cpu else Flavour.GPU,
        cuda_home=_cuda_home(wanted.cuda),
        with_frameworks=not wanted.without_frameworks,
        python=python_for(wanted.python),
        slurm_conf=choose_slurm_conf(wanted.slurm_conf, SLURM_VARIABLES),
    )


def _cuda_home(named: Path | None) -> Path | None:
    return None if named is None else cuda.check_home(named.absolute())


def choose_slurm_conf(named: Path | None, noted: Path) -> Path | None:
    """Return the slurm.conf that Slurm's programs need in SLURM_CONF.

    `noted` is the file in which an earlier run, if there was one, has recorded its choice.

    Returns:
        The one named, else that of SLURM_CONF, else that of the earlier run; None if Slurm finds
        its own.
    """
    earlier = re.search(r"^SLURM_CONF=(.+)$", read_plain(noted) or "", re.M)
    word = os.environ.get("SLURM_CONF") or (earlier[1] if earlier else "")
    path = named or (Path(word) if word else None)
    if path is not None and not (path.is_absolute() and path.is_file()):
        raise DeployError(
            f"{path} is not the absolute path of a file.",
            next_step="Name the cluster's slurm.conf with --slurm-conf.",
        )
    return path


def package_version() -> str:
    """Return the version of the checkout, such as "0.1.0"."""
    text = (SOURCE_DIR / "spawner/__init__.py").read_text(encoding="utf-8")
    if (match := re.search(r'^__version__ = "([^"]+)"', text, re.M)) is None:
        raise DeployError("This checkout has no version.", next_step="Name one with --version.")
    return match[1]


def list_pieces(site: Site) -> list[Piece | Environments]:
    """Return everything to install, in order."""
    rules = render_sudoers(
        group=site.users_group,
        slurm_user=site.slurm_user,
        account=site.account,
        mark=MARK,
        variables=site.slurm_variables if site.slurm_conf else None,
    )
    # Before the rules of sudo that name it.
    told = [file(site.slurm_variables, text_of("slurm.env", SLURM_CONF=site.slurm_conf))]
    return [
        users_group(site.users_group),
        account(site.account, site.state_dir),
        folder(site.prefix),
        folder(site.shared),
        folder(site.settings_dir),
        folder(site.state_dir.parent),
        folder(site.state_dir, mode=0o700, user=site.account),
        # People type passwords where their name belongs, and the log of the hub holds such names.
        folder(site.log_dir, mode=0o750),
        *(log_file(site.log_dir / name) for name in LOGS),
        # The site can edit its settings while environments are built.
        file(site.settings_dir / "portal.toml", first_settings(site), is_sites=True),
        file(
            site.settings_dir / "jupyterhub_config.py",
            text_of("jupyterhub_config"),
            is_sites=True,
        ),
        file(site.settings_dir / "secrets.env", first_secrets(), mode=0o600, is_sites=True),
        *list_environments(site),
        # An update leaves these alone; 'dsportal switch' changes them.
        link(site.prefix / "current", site.version, is_kept=True),
        link(site.shared / "current", site.version, is_kept=True),
        # sudo, settings and the spawner know the launcher by this path.
        link(site.prefix / "libexec", "current/libexec"),
        link(
            site.path("/usr/local/bin/dsportal"),
            str(site.prefix / "current/environments/hub/bin/dsportal"),
        ),
        *(told if site.slurm_conf else []),
        sudoers(site.path("/etc/sudoers.d/data-scientist-portal"), rules),
        *(
            file(site.units_dir / name, text, after=_reload_units)
            for name, text in render_units(site.account).items()
        ),
        file(site.path("/etc/logrotate.d/data-scientist-portal"), text_of("logrotate")),
        folder(site.prefix / site.version / "share"),
        file(site.prefix / site.version / "share/nginx.conf", text_of("nginx.conf")),
    ]


def _show(pieces: Sequence[Piece | Environments]) -> int:
    n_open = 0
    for piece in pieces:
        difference = piece.difference()
        n_open += bool(difference)
        print(f"{'would' if difference else 'ok':<7}{piece.title}", end="")
        print(f": {difference}" if difference else "")
    print(f"\n{n_open} of {len(pieces)} would be changed; nothing was.")
    return 2 if n_open else 0


def _install(site: Site, pieces: Sequence[Piece | Environments]) -> int:
    # Not by the settings: a first run that was interrupted has written them.
    is_new = not (site.prefix / "current").is_symlink()
    # A foreign file is found before anything is changed.
    for piece in pieces:
        piece.difference()
    n_done = 0
    for piece in pieces:
        difference = piece.difference()
        if difference:
            print(f"{piece.title}: {difference}", flush=True)
            piece.apply()
            n_done += 1
    print(f"\n{n_done} of {len(pieces)} changed." if n_done else "\nAll is in place.")
    print(next_steps(site, is_new=is_new, n_changed=n_done))
    return 0


def _reload_units() -> None:
    if Path("/run/systemd/system").is_dir():
        run(["systemctl", "daemon-reload"])
