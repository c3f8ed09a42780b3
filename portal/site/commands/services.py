"""The program that systemd starts beside the hub: the proxy, configured by the site's settings."""

import argparse
import os
import sys
from pathlib import Path

import portal.hub.network
from portal.hub.admin.tokens import PROXY, ensure_token
from portal.hub.network.authority import ensure_certificates
from portal.hub.settings.loader import Settings, load_settings
from spawner.certificates import IDENTITY_FILE
from spawner.errors import SiteError

SCRIPT = Path(str(portal.hub.network.__file__)).with_name("proxy.mjs")
NODE = "node/bin/node"
PROXY_DIR = "proxy/node_modules/configurable-http-proxy"

# Tornado's limit.
MOST_HEADER_BYTES = 65536


def run_proxy(arguments: argparse.Namespace) -> int:
    """Become the proxy; it does not return."""
    settings = load_settings(arguments.settings)
    hub = settings.hub
    if hub.internal_tls:
        _make_certificates(hub.certificates_dir, hub.address)
    # Node and the proxy are installed two folders above the hub's environment.
    argv = proxy_argv(settings, Path(sys.prefix).resolve().parents[1])
    environment = {**os.environ, "CONFIGPROXY_AUTH_TOKEN": _proxy_token(hub.state_dir)}
    try:
        # The same process, so that systemd's signals reach the program itself.
        os.execve(argv[0], argv, environment)  # noqa: S606
    except OSError as error:
        raise SiteError(f"{argv[0]} cannot be started: {error.strerror}. Install again.") from error


def _proxy_token(state_dir: Path) -> str:
    token = ensure_token(state_dir, PROXY)
    if not token:
        raise SiteError(
            f"The proxy's token cannot be read or made in {state_dir}. Make sure that this folder"
            " belongs to the hub's account."
        )
    return token


def _make_certificates(folder: Path, address: str) -> None:
    try:
        ensure_certificates(folder, address)
    except (OSError, ValueError) as error:
        raise SiteError(
            f"The certificates of internal TLS in {folder} cannot be read or made: {error}."
            " Make sure that the folder above it belongs to the hub's account, or remove damaged"
            " files. Running sessions then have to be started again."
        ) from error


def proxy_argv(settings: Settings, prefix: Path) -> list[str]:
    """Return the command of the proxy, whose token is in the environment.

    `prefix` holds Node and configurable-http-proxy.

    Source:
        configurable-http-proxy 5, --help; `portal/hub/network/proxy.mjs`.
    """
    hub = settings.hub
    api = hub.proxy_api_url.rpartition("://")[2].rstrip("/")
    api_host, _, api_port = api.rpartition(":")
    tls = [
        f"--sessions-ip={hub.address}",
        f"--sessions-port={hub.api_port}",
        f"--hub-prefix={hub.hub_prefix}",
        f"--identity={hub.certificates_dir / IDENTITY_FILE}",
    ]
    return [
        str(prefix / NODE),
        # As much as the hub takes: Node alone answers 431 to the cookies of some single sign-ons.
        f"--max-http-header-size={MOST_HEADER_BYTES}",
        str(SCRIPT),
        f"--configurable-http-proxy={prefix / PROXY_DIR}",
        f"--ip={hub.public_address}",
        f"--port={hub.public_port}",
        # An IPv6 address has brackets in a URL, and none here.
        f"--api-ip={api_host.strip('[]')}",
        f"--api-port={api_port}",
        f"--default-target={hub.url}",
        f"--error-target={hub.url}{hub.hub_prefix}error",
        f"--workers={hub.proxy_workers}",
        *(tls if hub.internal_tls else ()),
        *(["--host-routing"] if hub.subdomain_host else []),
    ]
