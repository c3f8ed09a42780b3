"""The portal itself: its settings, the proxy that users reach, and the hub."""

import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Sequence
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
from deploy.one_machine.hubs import (
    FRONT,
    FRONT_DIR,
    ONLY,
    PUBLIC_PORT,
    SHARED_DIR,
    Hub,
    front_settings,
)
from deploy.one_machine.layout import PREFIX_DIR, STATE_DIR, render
from deploy.one_machine.network import HEAD_ADDRESS
from deploy.one_machine.slurm import PARTITION
from deploy.one_machine.supervisor import ensure_running, forget, names
from deploy.one_machine.users import DEMO_ADMINISTRATOR

# To be tried from other machines, without TLS; deploy/up says so.
PUBLIC_ADDRESS = "0.0.0.0"  # noqa: S104
HUB_TIMEOUT_S = 90
HUB_ENVIRONMENT_DIR = PREFIX_DIR / "environments" / "hub"
# As deploy/site/install has it.
COMMAND = Path("/usr/local/bin/dsportal")
COMMAND_PROGRAM = HUB_ENVIRONMENT_DIR / "bin" / "dsportal"
SECRET_BYTES = 32
# Of each hub.
PARTS = ("hub", "proxy")


def render_settings(cluster: Cluster, hub: Hub = ONLY, hubs: Sequence[Hub] = (ONLY,)) -> str:
    """Return portal.toml of one of the hubs of this machine."""
    several = f'''\
base_url = "{hub.base_url}"
trusted_proxies = ["127.0.0.1"]

[hubs]
paths = {json.dumps([one.base_url for one in hubs])}
folder = "{SHARED_DIR}"
'''
    return render(
        "portal.toml",
        SEVERAL=several if hub.name else "",
        HAS_SIMULATED_GPUS=str(cluster.has_simulated_gpus).lower(),
        HEAD_ADDRESS=HEAD_ADDRESS,
        API_PORT=hub.api_port,
        PUBLIC_PORT=hub.public_port,
        PUBLIC_ADDRESS="127.0.0.1" if hub.name else PUBLIC_ADDRESS,
        PROXY_API_PORT=hub.proxy_api_port,
        HUB_STATE_DIR=hub.state_dir,
        ADMINISTRATOR=DEMO_ADMINISTRATOR,
        ADDRESS=directory.ADDRESS,
        PEOPLE=directory.PEOPLE,
        READER=directory.READER,
        CORES_PER_GPU=cluster.cores_per_gpu,
        GIB_PER_GPU=cluster.memory_gib_per_gpu,
        PARTITION=PARTITION,
    )


def ensure_settings(cluster: Cluster, hub: Hub = ONLY, hubs: Sequence[Hub] = (ONLY,)) -> str:
    """Write portal.toml of a hub if it differs, unless the administrator has changed it."""
    ensure_folder(hub.settings.parent)
    ensure_folder(hub.state_dir, mode=0o700, user=ACCOUNT)
    if hub.name:
        ensure_folder(SHARED_DIR, mode=0o700, user=ACCOUNT)
    # As deploy/up last wrote it, by which changes of the administrator's are seen.
    kept = STATE_DIR / hub.settings.name
    ensure_folder(kept.parent)
    wanted, written = render_settings(cluster, hub, hubs), read_plain(kept)
    if written is not None and read_plain(hub.settings) not in {None, written, wanted}:
        if written == wanted:
            return "yours, kept"
        return f"yours, kept; for those of this machine as it is now, remove {hub.settings}"
    is_new = ensure_file(hub.settings, wanted)
    ensure_file(kept, wanted)
    return f"written to {hub.settings}" if is_new else "unchanged"


def forget_others(hubs: Sequence[Hub]) -> str:
    """Stop what an earlier deploy/up with more hubs has started."""
    wanted = {hub.daemon(part) for hub in hubs for part in PARTS}
    wanted |= {FRONT} if len(hubs) > 1 else set()
    ours = {*PARTS, FRONT}
    gone = [name for name in names() if name.split("-")[0] in ours and name not in wanted]
    for name in gone:
        forget(name)
    return f"stopped {', '.join(gone)}" if gone else "none"


def ensure_front(hubs: Sequence[Hub]) -> str:
    """Start nginx, which leads users to their hubs."""
    ensure_folder(FRONT_DIR)
    config = FRONT_DIR / "nginx.conf"
    listen = f"{PUBLIC_ADDRESS}:{PUBLIC_PORT}"
    ensure_file(config, front_settings(tuple(hubs), listen=listen, folder=FRONT_DIR))
    return ensure_running(
        FRONT,
        lambda: _status(PUBLIC_PORT, "/") is not None,
        timeout_s=30,
        read_at_start=[config],
        CONFIG=config,
    )


def ensure_command() -> str:
    """Let root start `dsportal` by its name; another program of that name is left alone."""
    return f"{COMMAND} made" if ensure_link(COMMAND, COMMAND_PROGRAM) else "unchanged"


def remove_command() -> None:
    """Remove what `ensure_command` made."""
    remove_link(COMMAND, COMMAND_PROGRAM)


def ensure_proxy(hub: Hub = ONLY) -> str:
    """Start a hub's proxy unless it already runs with the installed script and settings."""
    package = _hub_package_dir() / "portal"
    # With what says its options.
    read_at_start = (
        hub.settings,
        *sorted((package / "hub" / "network").glob("*.mjs")),
        package / "site" / "commands" / "services.py",
    )
    return ensure_running(
        hub.daemon("proxy"),
        # Any answer will do: without a hub it is an error page.
        lambda: _status(hub.public_port, "/") is not None,
        template="proxy",
        timeout_s=30,
        read_at_start=read_at_start,
        PORTAL_TOML=hub.settings,
        HUB_STATE_DIR=hub.state_dir,
        HUB_ENVIRONMENT_DIR=HUB_ENVIRONMENT_DIR,
    )


def ensure_hub(hub: Hub = ONLY) -> str:
    """Start a hub unless it already runs with the installed package and settings."""
    package_dir = _hub_package_dir()
    return ensure_running(
        hub.daemon("hub"),
        lambda: is_hub_answering(hub),
        template="hub",
        timeout_s=HUB_TIMEOUT_S,
        # pip writes RECORD at each install: a new package restarts the hub, new settings too.
        read_at_start=[
            hub.settings,
            *package_dir.glob("data_scientist_portal-*.dist-info/RECORD"),
        ],
        PORTAL_TOML=hub.settings,
        HUB_STATE_DIR=hub.state_dir,
        HUB_ENVIRONMENT_DIR=HUB_ENVIRONMENT_DIR,
        PACKAGE_DIR=package_dir,
        PATH=CLEAN_ENVIRONMENT["PATH"],
        READER_PASSWORD=directory.reader_password(),
        CRYPT_KEY=ensure_secret(
            hub.state_dir / "crypt-key", secrets.token_hex(SECRET_BYTES), user=ACCOUNT
        ),
    )


def is_hub_answering(hub: Hub = ONLY) -> bool:
    """Return whether a hub's health page answers through its proxy."""
    return _status(hub.public_port, f"{hub.base_url}hub/health") == 200


def does_refuse_sessions(hub: Hub = ONLY) -> bool:
    """Return whether `dsportal drain` is in force, so that nobody can start a session."""
    url = f"http://127.0.0.1:{hub.public_port}{hub.base_url}hub/api/dsportal/health"
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
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
