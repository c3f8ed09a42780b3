"""Switches between installed versions: links, database, and a restart of proxy and hub."""

from __future__ import annotations

import argparse
import os
import pwd
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from portal.hub.settings.loader import Settings, load_settings
from portal.site.checks.host import http_status
from spawner.errors import SiteError

SYSTEMD = Path("/run/systemd/system")
HUB_UNITS = ("dsportal-hub", "dsportal-culler")
PROXY_UNIT = "dsportal-proxy"
TIMEOUT_S = 300.0
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A change of version.

    Attributes:
        links: The links "current", each in the folder that holds the versions.
        hub: Environment of the hub of that version.
    """

    version: str
    links: tuple[Path, ...]
    hub: Path


def run_switch(arguments: argparse.Namespace) -> int:
    """Use another version; sessions continue, as Slurm jobs in folders of their own version.

    Args:
        arguments: With `settings`, `version` and `database`, a copy to go back to or None.

    Returns:
        0.

    Raises:
        SettingsError: If the settings are wrong.
        SiteError: If the version is not installed, or a step fails; the links are then as before.
    """
    settings = load_settings(arguments.settings)
    if os.geteuid() != 0:
        raise SiteError("Run this as root: it changes links and restarts proxy and hub.")
    switch = plan_switch(settings, arguments.version, prefix=installed_prefix(Path(sys.prefix)))
    has_systemd = SYSTEMD.is_dir()
    if has_systemd:
        _run(["systemctl", "stop", *HUB_UNITS])
    elif http_status(f"{settings.hub.through_proxy_url}health") == 200:
        raise SiteError("The hub runs. Stop it, switch, and start it again; sessions go on.")
    try:
        _prepare_database(settings, arguments.settings, switch, arguments.database)
        turn_links(switch)
        if has_systemd:
            # Proxy and hub of one version belong together; connections are taken up again.
            _run(["systemctl", "try-restart", PROXY_UNIT])
    finally:
        if has_systemd:
            _run(["systemctl", "start", *HUB_UNITS])
    print(f"The portal is now {switch.version}.{'' if has_systemd else ' Start the hub.'}")
    return 0


def installed_prefix(environment: Path) -> Path:
    """Return the folder of all versions on this host, such as /opt/data-scientist-portal.

    `environment` is the hub's, which runs this command.

    Raises:
        SiteError: If the environment is not one that deploy/site/install made.
    """
    for folder in environment.parents:
        if (folder / "current").is_symlink():
            return folder
    raise SiteError(
        f"{environment} is not in an installation of deploy/site/install: no folder above it has a"
        " link 'current'."
    )


def plan_switch(settings: Settings, version: str, *, prefix: Path) -> Switch:
    """Return the links to change, and the hub's environment of the new version.

    The settings name the environments below a link "current". `prefix` is the folder of all
    versions on this host.

    Raises:
        SiteError: If the version is not installed, here or on the shared file system.
    """
    links = [prefix / "current"]
    server = settings.environments.server
    links += [folder for folder in server.parents if folder.name == "current"][:1]
    if not _VERSION.fullmatch(version):
        raise SiteError(f"{version!r} is no version.")
    for link in links:
        if not link.is_symlink():
            raise SiteError(
                f"{link} is no link, so this is not an installation of deploy/site/install."
            )
        if not (link.parent / version).is_dir():
            have = sorted(one.name for one in link.parent.iterdir() if _is_version(one))
            raise SiteError(
                f"{link.parent} has no version {version}. There are: {', '.join(have)}."
                " deploy/site/install --version NAME puts another one beside them."
            )
    return Switch(
        version=version, links=tuple(links), hub=prefix / version / "environments" / "hub"
    )


def turn_links(switch: Switch) -> None:
    """Point all links to the version; if one cannot be changed, change the others back.

    Raises:
        SiteError: If a link cannot be turned.
    """
    before = [os.readlink(link) for link in switch.links]
    try:
        for link in switch.links:
            _turn(link, switch.version)
    except OSError as error:
        for link, target in zip(switch.links, before, strict=True):
            if os.readlink(link) != target:
                _turn(link, target)
        raise SiteError(f"{error.filename} cannot be changed: {error.strerror}.") from error


def _turn(link: Path, target: str) -> None:
    new = link.with_name(".current.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    os.replace(new, link)


def _prepare_database(
    settings: Settings, settings_path: Path, switch: Switch, copy: Path | None
) -> None:
    hub = settings.hub
    if not hub.db_url and not hub.sqlite_path.exists():
        return
    # A process of its own, because the command gives up root, which the switch still needs.
    backup = [sys.executable, "-m", "portal.cli", "backup", "--settings", str(settings_path)]
    print("copied to", _run(backup).strip())
    if copy is not None:
        _run([*backup, "--restore", str(copy)])
        print("gone back to", copy)
    account = pwd.getpwuid(hub.state_dir.stat().st_uid)
    upgrade = ["-m", "jupyterhub", "upgrade-db", f"--JupyterHub.db_url={hub.sqlalchemy_url}"]
    try:
        _run([str(switch.hub / "bin/python"), *upgrade], account=account, cwd=hub.state_dir)
    except SiteError as error:
        if "Can't locate revision" not in error.message:
            raise
        raise SiteError(
            f"{switch.version} is older than the database. Go back to a copy from its time:"
            f" dsportal switch {switch.version} --database {hub.state_dir}/backups/NAME. Sessions"
            " that were started since then are found and ended."
        ) from error


def _run(
    argv: Sequence[str], *, account: pwd.struct_passwd | None = None, cwd: Path = Path("/")
) -> str:
    identity = (
        {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    )
    try:
        done = subprocess.run(
            argv,
            check=False,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            cwd=cwd,
            env=_environment(argv[0], account),
            **identity,  # type: ignore[call-overload]
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SiteError(f"'{' '.join(argv[:3])} ...' failed: {error}.") from error
    if done.returncode != 0:
        said = [*done.stdout.splitlines(), *done.stderr.splitlines()] or ["no words"]
        # Alembic's own message comes before those of JupyterHub, which started it.
        telling = [line for line in said if "FAILED: " in line] or said
        raise SiteError(f"'{' '.join(argv[:4])} ...' failed: {telling[-1]}")
    return str(done.stdout)


def _environment(program: str, account: pwd.struct_passwd | None) -> dict[str, str]:
    # JupyterHub starts alembic by its name.
    path = f"{Path(program).parent}:{os.environ.get('PATH', os.defpath)}"
    home = {"HOME": account.pw_dir} if account else {}
    return {**os.environ, "PATH": path, **home}


def _is_version(folder: Path) -> bool:
    return folder.is_dir() and not folder.is_symlink() and (folder / "environments").is_dir()
