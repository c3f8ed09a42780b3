"""Names and places of the foreign cluster; none of them is the one-machine cluster's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HEAD = "login1"
HEAD_ADDRESS = "10.88.4.1"
PREFIX_LENGTH = 22
LDAP_HOST = "ldap.institute.example"
PORTAL_HOST = "portal.institute.example"

ROOT_DIR = Path("/cluster")
SLURM_DIR = ROOT_DIR / "etc/slurm"
SLURM_CONF = SLURM_DIR / "slurm.conf"
STATE_DIR = ROOT_DIR / "state"
LOG_DIR = ROOT_DIR / "log"
TLS_DIR = ROOT_DIR / "tls"
CA_CERTIFICATE = TLS_DIR / "ca.pem"
MUNGE_DIR = ROOT_DIR / "munge"
MUNGE_SOCKET = MUNGE_DIR / "socket"
DATABASE_DIR = ROOT_DIR / "database"
DATABASE_SOCKET = DATABASE_DIR / "socket"
GPUS_DIR = ROOT_DIR / "gpus"
SOFTWARE_DIR = ROOT_DIR / "software"
# Exported folder, and where users and nodes see it with root squashed.
SHARES = (("/export/home", "/nfs/home"), ("/export/data", "/ifs/data"))

CLUSTER_NAME = "institute"
BASE = "o=institute"
PEOPLE = f"ou=accounts,{BASE}"
ADMITTED = f"cn=gpu-users,ou=lists,{BASE}"
READER = f"cn=reader,{BASE}"
UNIX_GROUP = "science"
UNIX_GROUP_ID = 50_100


@dataclass(frozen=True, kw_only=True)
class User:
    """A user: grace is in the UNIX group, but not in the LDAP group that may log in."""

    name: str
    user_id: int
    is_admitted: bool

    @property
    def home(self) -> Path:
        """Home folder on the share."""
        return Path("/nfs/home", self.name)


USERS = (
    User(name="ada", user_id=51_001, is_admitted=True),
    User(name="grace", user_id=51_002, is_admitted=False),
)


@dataclass(frozen=True, kw_only=True)
class Node:
    """A compute node and the simulated GPUs that it says it has."""

    name: str
    address: str
    n_cores: int
    gpus: tuple[tuple[str, int], ...]


NODES = (
    Node(name="volta1", address="10.88.5.1", n_cores=16, gpus=(("v100", 2),)),
    Node(name="ampere1", address="10.88.5.2", n_cores=32, gpus=(("a100", 2), ("a30", 1))),
)


def password_file() -> Path:
    """Return where the users' password is, for root only."""
    return ROOT_DIR / "users-password"
