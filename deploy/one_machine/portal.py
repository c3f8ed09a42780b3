"""The portal itself: its settings, the proxy that users reach, and the hub."""

import json
import secrets
import urllib.error
import urllib.request
from pathlib import Path

from deploy.common.accounts import ACCOUNT
from deploy.common.command import CLEAN_ENVIRONMENT
from deploy.common.errors import DeployError
from deploy.common.files import (
    ensure_file,
    ensure_folder,
    ensure_link,
    ensure_secret,
    read_plain,
    remove_link,
)
from deploy.one_machine import directory
from deploy.one_machine.cluster import Cluster
from deploy.one_machine.layout import (
    HUB_STATE_DIR,
    PORTAL_TOML,
    PREFIX_DIR,
    STATE_DIR,
    render,
)
from deploy.one_machine.network import HEAD_ADDRESS
from deploy.one_machine.slurm import PARTITION
from deploy.one_machine.supervisor import ensure_running
from deploy.one_machine.users import DEMO_ADMINISTRATOR

PUBLIC_PORT = 8000
# To be tried from other machines, without TLS; deploy/up says so.
PUBLIC_ADDRESS = "0.0.0.0"  # noqa: S104
PROXY_API_PORT = 8001
HEALTH_URL = f"http://127.0.0.1:{PUBLIC_PORT}/hub/api/dsportal/health"
HUB_TIMEOUT_S = 90
HUB_ENVIRONMENT_DIR = PREFIX_DIR / "environments" / "hub"
# As deploy/site/install has it.
COMMAND = Path("/usr/local/bin/dsportal")
COMMAND_PROGRAM = HUB_ENVIRONMENT_DIR / "bin" / "dsportal"
SECRET_BYTES = 32
# As deploy/up last wrote it, by which changes of the administrator's are seen.
WRITTEN_SETTINGS = STATE_DIR / "portal.toml"


def render_settings(cluster: Cluster) -> str:
    """Return portal.toml for this machine."""
    return render(
        "portal.toml",
        HAS_SIMULATED_GPUS=str(cluster.has_simulated_gpus).lower(),
        HEAD_ADDRESS=HEAD_ADDRESS,
        PUBLIC_PORT=PUBLIC_PORT,
        PUBLIC_ADDRESS=PUBLIC_ADDRESS,
        PROXY_API_PORT=PROXY_API_PORT,
        ADMINISTRATOR=DEMO_ADMINISTRATOR,
        ADDRESS=directory.ADDRESS,
        PEOPLE=directory.PEOPLE,
        READER=directory.READER,
        CORES_PER_GPU=cluster.cores_per_gpu,
        GIB_PER_GPU=cluster.memory_gib_per_gpu,
        PARTITION=PARTITION,
    )


def ensure_settings(cluster: Cluster) -> str:
    """Write portal.toml if it differs, unless the administrator has changed it."""
    ensure_folder(PORTAL_TOML.parent)
    ensure_folder(HUB_STATE_DIR, mode=0o700, user=ACCOUNT)
    ensure_folder(WRITTEN_SETTINGS.parent)
    wanted, written = render_settings(cluster), read_plain(WRITTEN_SETTINGS)
    if written is not None and read_plain(PORTAL_TOML) not in {None, written, wanted}:
        if written == wanted:
            return "yours, kept"
        return f"yours, kept; for those of this machine as it is now, remove {PORTAL_TOML}"
    is_new = ensure_file(PORTAL_TOML, wanted)
    ensure_file(WRITTEN_SETTINGS, wanted)
    return f"written to {PORTAL_TOML}" if is_new else "unchanged"


def ensure_command() -> str:
    """Let root start `dsportal` by its name; another program of that name is left alone."""
    return f"{COMMAND} made" if ensure_link(COMMAND, COMMAND_PROGRAM) else "unchanged"


def remove_command() -> None:
    """Remove what `ensure_command` made."""
    remove_link(COMMAND, COMMAND_PROGRAM)


def ensure_proxy() -> str:
    """Start the proxy unless it already runs with the installed script and settings."""
    package = _hub_package_dir() / "portal"
    # With what says its options.
    read_at_start = (
        PORTAL_TOML,
        package / "hub" / "network" / "proxy.mjs",
        package / "site" / "commands" / "services.py",
    )
    return ensure_running(
        "proxy",
        # Any answer will do: without a hub it is an error page.
        lambda: _status(PUBLIC_PORT, "/") is not None,
        timeout_s=30,
        read_at_start=read_at_start,
        HUB_ENVIRONMENT_DIR=HUB_ENVIRONMENT_DIR,
    )


def ensure_hub() -> str:
    """Start the hub unless it already runs with the installed package and settings."""
    package_dir = _hub_package_dir()
    return ensure_running(
        "hub",
        is_hub_answering,
        timeout_s=HUB_TIMEOUT_S,
        # pip writes RECORD at each install: a new package restarts the hub, new settings too.
        read_at_start=[
            PORTAL_TOML,
            *package_dir.glob("data_scientist_portal-*.dist-info/RECORD"),
        ],
        HUB_ENVIRONMENT_DIR=HUB_ENVIRONMENT_DIR,
        PACKAGE_DIR=package_dir,
        PATH=CLEAN_ENVIRONMENT["PATH"],
        READER_PASSWORD=directory.reader_password(),
        CRYPT_KEY=ensure_secret(
            HUB_STATE_DIR / "crypt-key", secrets.token_hex(SECRET_BYTES), user=ACCOUNT
        ),
    )


def is_hub_answering() -> bool:
    """Return whether the hub's health page answers through the proxy."""
    return _status(PUBLIC_PORT, "/hub/health") == 200


def does_refuse_sessions() -> bool:
    """Return whether `dsportal drain` is in force, so that nobody can start a session."""
    try:
        with urllib.request.urlopen(HEALTH_URL, timeout=5) as answer:
            return json.load(answer)["takes_sessions"] is False
    except (OSError, ValueError, KeyError):
        return False


def _hub_package_dir() -> Path:
    for library in (HUB_ENVIRONMENT_DIR / "lib").glob("python3.*"):
        return library / "site-packages"
    raise DeployError(
        f"There is no environment for the hub in {HUB_ENVIRONMENT_DIR}.",
        next_step="Run deploy/up without --only, which builds it.",
    )


def _status(port: int, path: str) -> int | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None
