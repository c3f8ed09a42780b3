"""Switches between installed versions: links, database, and a restart of proxy and hub."""

from __future__ import annotations

import argparse
import os
import pwd
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from portal.confirmation import may_change
from portal.hub.settings.loader import Settings, load_settings
from portal.site.commands.backup import describe_copy, refuse_running_hub
from spawner.errors import SiteError

SYSTEMD = Path("/run/systemd/system")
HUB_UNIT = "dsportal-hub"
PROXY_UNIT = "dsportal-proxy"
TIMEOUT_S = 300.0
# It becomes the name of a folder: no slash, and no dot in front.
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
    """Use another version; sessions continue, as Slurm jobs in folders of their own version."""
    settings = load_settings(arguments.settings)
    if os.geteuid() != 0:
        raise SiteError("Run this as root: it changes links and restarts the proxy and the hub.")
    switch = plan_switch(settings, arguments.version, prefix=installed_prefix(Path(sys.prefix)))
    if arguments.database is not None:
        describe_copy(settings.hub, arguments.database)
    if not may_change(
        arguments, f"Stop the hub, use version {switch.version}, and start it. Sessions continue"
    ):
        return 0
    has_systemd = SYSTEMD.is_dir()
    database = _Database(settings, arguments.settings)
    before = [os.readlink(link) for link in switch.links]
    if has_systemd:
        _run(["systemctl", "stop", HUB_UNIT])
    else:
        refuse_running_hub(settings.hub)
    try:
        database.prepare(switch, arguments.database)
        turn_links(switch)
        if has_systemd:
            # Proxy and hub of one version belong together; connections are taken up again.
            _run(["systemctl", "try-restart", PROXY_UNIT])
            _run(["systemctl", "start", HUB_UNIT])
    # Ctrl-C too: an administrator who gives up must not be left without a hub.
    except BaseException as error:
        _go_back(error, switch, before, database, has_systemd=has_systemd)
        raise
    print(f"The portal is now {switch.version}.{'' if has_systemd else ' Start the hub.'}")
    return 0


def _go_back(
    error: BaseException,
    switch: Switch,
    before: list[str],
    database: _Database,
    *,
    has_systemd: bool,
) -> None:
    """Bring back links and database, and start what was stopped."""
    try:
        with ExitStack() as starts:
            if has_systemd:
                # One that was started by the new version would keep the database busy.
                _run(["systemctl", "stop", HUB_UNIT])
                # Last in, first out; the hub is started whatever the proxy does.
                starts.callback(_run, ["systemctl", "start", HUB_UNIT])
                if before != [os.readlink(link) for link in switch.links]:
                    starts.callback(_run, ["systemctl", "try-restart", PROXY_UNIT])
            _turn_back(switch, before)
            database.restore_first_copy()
    except (SiteError, OSError) as second:
        raise SiteError(
            f"{error} Going back failed too: {second} See 'systemctl status {PROXY_UNIT}"
            f" {HUB_UNIT}' and the links {', '.join(map(str, switch.links))}."
        ) from error


def installed_prefix(environment: Path) -> Path:
    """Return the folder of all versions on this host, such as /opt/data-scientist-portal.

    `environment` is the hub's, which runs this command.
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
    """
    links = [prefix / "current"]
    server = settings.environments.server
    links += [folder for folder in server.parents if folder.name == "current"][:1]
    if not _VERSION.fullmatch(version):
        raise SiteError(f"{version!r} is not a version.")
    for link in links:
        if not link.is_symlink():
            raise SiteError(
                f"{link} is not a link, so this is not an installation of deploy/site/install."
            )
        if not (link.parent / version).is_dir():
            have = sorted(one.name for one in link.parent.iterdir() if _is_version(one))
            raise SiteError(
                f"{link.parent} has no version {version}. Installed: {', '.join(have)}."
                " deploy/site/install --version NAME installs another one."
            )
    return Switch(
        version=version, links=tuple(links), hub=prefix / version / "environments" / "hub"
    )


def turn_links(switch: Switch) -> None:
    """Point all links to the version."""
    try:
        for link in switch.links:
            _turn(link, switch.version)
    except OSError as error:
        raise SiteError(f"{error.filename} cannot be changed: {error.strerror}.") from error


def _turn_back(switch: Switch, before: Sequence[str]) -> None:
    for link, target in zip(switch.links, before, strict=True):
        if os.readlink(link) != target:
            _turn(link, target)


def _turn(link: Path, target: str) -> None:
    new = link.with_name(".current.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    # In one step: sessions that start now find the old version or the new one.
    os.replace(new, link)


class _Database:
    """The hub's database during a switch: copied first, so that it can be brought back."""

    def __init__(self, settings: Settings, settings_path: Path) -> None:
        # A process of its own, because the command gives up root, which the switch still needs.
        words = ("-m", "portal.cli", "backup", "--settings", str(settings_path))
        self._backup = (sys.executable, *words)
        self._hub = settings.hub
        self._first_copy = ""

    def prepare(self, switch: Switch, copy: Path | None) -> None:
        """Bring the database, or a copy of it from before, to the schema of a version."""
        hub = self._hub
        # A hub that never ran; it creates the database itself.
        if not hub.db_url and not hub.sqlite_path.exists():
            return
        if copy is None:
            said = f"copied to {_run(self._backup).strip()}"
        else:
            # It copies the database first.
            said = self._restore(str(copy))
        print(said)
        self._first_copy = said.splitlines()[0].removeprefix("copied to ")
        account = pwd.getpwuid(hub.state_dir.stat().st_uid)
        upgrade = ["-m", "jupyterhub", "upgrade-db", f"--JupyterHub.db_url={hub.sqlalchemy_url}"]
        try:
            _run([str(switch.hub / "bin/python"), *upgrade], account=account, cwd=hub.state_dir)
        except SiteError as error:
            # Alembic's words about a schema that this version's JupyterHub does not know.
            if "Can't locate revision" not in error.message:
                raise
            raise SiteError(
                f"{switch.version} is older than the database. Restore a copy from its time:"
                f" dsportal switch {switch.version} --database {hub.state_dir}/backups/NAME."
                " Sessions that were started after that copy are found and ended."
            ) from error

    def restore_first_copy(self) -> None:
        """Bring it back to where it was before `prepare`."""
        if self._first_copy:
            self._restore(self._first_copy)

    def _restore(self, copy: str) -> str:
        return _run([*self._backup, "--yes", "--restore", copy]).strip()


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
