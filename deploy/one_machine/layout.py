"""Paths of the one-machine portal, and the plain files in which they stand."""

from pathlib import Path

from deploy.common.template import fill

SOURCE_DIR = Path(__file__).resolve().parents[2]
TEMPLATES_DIR = Path(__file__).resolve().parent / "templates"

PREFIX_DIR = Path("/opt/data-scientist-portal")
SETTINGS_DIR = Path("/etc/data-scientist-portal")
STATE_DIR = Path("/var/lib/data-scientist-portal")
LOG_DIR = Path("/var/log/data-scientist-portal")
# A tmpfs on most machines: empty after a boot, as are the daemons that it tells of.
RUN_DIR = Path("/run/data-scientist-portal")
SLURM_DIR = Path("/etc/slurm")
ISILON_DIR = Path("/srv/isilon")

HUB_STATE_DIR = STATE_DIR / "hub"
SLURM_STATE_DIR = STATE_DIR / "slurm"
MUNGE_DIR = STATE_DIR / "munge"
# Not /run/munge, which is where a munge of the machine's own has its socket.
MUNGE_SOCKET = MUNGE_DIR / "munge.socket"
MARIADB_DIR = STATE_DIR / "mariadb"
SLAPD_DIR = STATE_DIR / "slapd"
NODES_DIR = STATE_DIR / "nodes"
SUPERVISOR_DIR = STATE_DIR / "supervisor"
# The program that sets nodes up; not that of a checkout, which may move while they run.
NAMESPACE = SUPERVISOR_DIR / "namespace.py"
PASSWORD_FILE = STATE_DIR / "demo-password"

PORTAL_TOML = SETTINGS_DIR / "portal.toml"
LDAP_CA = SETTINGS_DIR / "ldap-ca.pem"

MARK = "Written by deploy/up of the Data Scientist Portal; deploy/down --purge removes it."


def log_path(name: str) -> Path:
    """Return the log of one part, such as "slurmctld"."""
    return LOG_DIR / f"{name}.log"


def render(template: str, **values: object) -> str:
    """Return a file of `templates` with the values that it names, and those of this module."""
    places = {name: value for name, value in globals().items() if name.isupper()}
    return fill(TEMPLATES_DIR / template, {**places, **values})
