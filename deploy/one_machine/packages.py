"""Debian packages, installed without starting or enabling their daemons."""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from deploy.common.command import run, succeeds
from deploy.common.errors import DeployError
from deploy.common.files import ensure_file, ensure_folder, read_plain
from deploy.environments.builder.debian import ensure_packages as ensure_debian
from deploy.environments.builder.debian import is_installed
from deploy.one_machine.layout import LOG_DIR, MARK

CLUSTER_PACKAGES = (
    "slurmctld",
    "slurmd",
    "slurmdbd",
    "slurm-client",
    "slurm-wlm-basic-plugins",
    "slurm-wlm-mysql-plugin",
    "munge",
    "mariadb-server-core",
    "mariadb-client-core",
    "slapd",
    "ldap-utils",
    "nslcd",
    "libnss-ldapd",
    "openssh-server",
    "openssl",
    "sudo",
    "supervisor",
    "iproute2",
    "nftables",
    "python3-venv",
)
# Source: the templates of Debian's slapd 2.5 and libnss-ldapd 0.9.12 (debconf-show). Without an
# answer slapd makes a database of its own and libnss-ldapd edits /etc/nsswitch.conf.
ANSWERS = """\
slapd slapd/no_configuration boolean true
libnss-ldapd libnss-ldapd/nsswitch multiselect
nslcd nslcd/ldap-uris string ldap://127.0.0.1/
nslcd nslcd/ldap-base string dc=portal,dc=example
"""

POLICY = Path("/usr/sbin/policy-rc.d")
# Status 101 tells invoke-rc.d that no daemon may be started.
POLICY_TEXT = f"#!/bin/sh\n# {MARK}\nexit 101\n"
LOG = LOG_DIR / "apt.log"


def missing_packages(names: Sequence[str]) -> list[str]:
    """Return the packages that are not installed."""
    return [name for name in names if not is_installed(name)]


def answers_for(packages: Sequence[str]) -> str:
    """Return debconf answers for packages about to be installed."""
    lines = ANSWERS.splitlines(keepends=True)
    return "".join(line for line in lines if line.split()[0] in packages)


def ensure_packages(added: Sequence[str] = ()) -> str:
    """Install the missing packages of the cluster, and those `added`."""
    if not succeeds(["apt-get", "--version"]):
        raise DeployError(
            "There is no apt-get on this machine; deploy/up is for Debian 12 and 13.",
            next_step="Use such a machine, or deploy/site/install: see docs/install/cluster.md.",
        )
    remove_policy()
    missing = missing_packages([*CLUSTER_PACKAGES, *added])
    if not missing:
        return "all installed"
    install_packages(missing)
    return f"installed {len(missing)}"


def install_packages(missing: Sequence[str]) -> None:
    """Install packages of Debian without starting their daemons."""
    if answers := answers_for(missing):
        run(["debconf-set-selections"], stdin=answers)
    ensure_folder(LOG_DIR)
    with no_daemon_starts(), LOG.open("w") as log:
        try:
            ensure_debian(missing, log)
        except DeployError as error:
            error.log = LOG
            raise
    disable_units(missing)


@contextlib.contextmanager
def no_daemon_starts() -> Iterator[None]:
    """Keep packages from starting daemons while they are installed.

    A policy of the machine's own is left alone.
    """
    remove_policy()
    if os.path.lexists(POLICY):
        yield
        return
    ensure_file(POLICY, POLICY_TEXT, mode=0o755)
    try:
        yield
    finally:
        remove_policy()


def remove_policy() -> None:
    """Remove our policy against starting daemons, also one left by a killed run."""
    if MARK in (read_plain(POLICY) or ""):
        POLICY.unlink()


def disable_units(packages: Sequence[str]) -> None:
    """Keep systemd from starting the daemons of new packages at the next boot.

    deploy/up runs its own, with its own settings, and sessions start their own sshd.
    """
    if Path("/run/systemd/system").is_dir():
        files = run(["dpkg", "--listfiles", *packages]).split()
        # Of a template, with a @, nothing starts by itself.
        if units := re.findall(r"/systemd/system/([^/\s@]+\.service)$", "\n".join(files), re.M):
            run(["systemctl", "disable", *units])
