"""Checks what the hub needs on this host: space, the proxy, and the pinned packages."""

import importlib.metadata
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPClientError

from dsportal.amounts import count
from portal.hub.admin.tokens import PROXY, read_token
from portal.hub.settings.hub import HubSettings
from portal.site.checks.finding import Finding, ok, problem, skipped, warning
from portal.site.checks.runner import in_thread

LEAST_FREE_MIB = 512
_TIMEOUT_S = 5.0
# Extras in brackets are skipped: the installed package has its plain name.
_PIN = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==([^\s;#]+)", re.MULTILINE)


async def check_disk(hub: HubSettings) -> list[Finding]:
    """Check that the folder of the hub's state has space."""
    free_mib = (await in_thread(lambda: shutil.disk_usage(hub.state_dir))).free // 1024**2
    if free_mib < LEAST_FREE_MIB:
        return [
            problem(
                f"{free_mib} MiB are free under {hub.state_dir}.",
                f"Free {LEAST_FREE_MIB} MiB or more.",
            )
        ]
    return [ok(f"{free_mib // 1024} GiB are free under {hub.state_dir}.")]


async def check_proxy(hub: HubSettings) -> list[Finding]:
    """Ask the proxy, and the hub through it."""
    # The API refuses whoever has no token, and a refusal is an answer.
    if await _ask(f"{hub.proxy_api_url}/api/routes") is None:
        return [
            problem(
                f"nothing answers at {hub.proxy_api_url}.",
                "Start the proxy: systemctl start dsportal-proxy",
            )
        ]
    url = f"{hub.through_proxy_url}api/dsportal/health"
    health = await _read_json(url)
    if "hub" not in health:
        return [
            problem(
                f"the proxy runs, but the hub does not answer at {url}.",
                "Start the hub, or read its log: systemctl start dsportal-hub",
            )
        ]
    if health.get("proxy") != "answers":
        return [
            problem(
                "the proxy refuses the hub, so no session can be opened that is not yet.",
                "Restart both: systemctl restart dsportal-proxy dsportal-hub",
            )
        ]
    return [
        ok(f"the hub answers through it on port {hub.public_port}."),
        *await _missing_workers(hub),
    ]


async def _missing_workers(hub: HubSettings) -> list[Finding]:
    token = read_token(hub.state_dir, PROXY)
    start = await _read_json(f"{hub.proxy_api_url}/api/start", token)
    n_workers = start.get("workers", 0)
    if n_workers == hub.proxy_workers:
        return []
    return [
        warning(
            f"{count(n_workers, 'worker')} of the proxy can be seen to take connections;"
            f" proxy_workers is {hub.proxy_workers}.",
            "If proxy_workers was changed, restart the proxy: systemctl restart dsportal-proxy."
            " Otherwise proxy.log says why a worker ended.",
        )
    ]


async def _ask(url: str, token: str = "") -> bytes | None:
    """Return what a local web server answers, if only with a refusal; None if it does not."""
    headers = {"Authorization": f"token {token}"} if token else {}
    fetch = AsyncHTTPClient().fetch
    try:
        answer = await fetch(url, headers=headers, raise_error=False, request_timeout=_TIMEOUT_S)
    except (OSError, HTTPClientError):
        return None
    return answer.body


async def _read_json(url: str, token: str = "") -> dict[str, Any]:
    """Return the JSON object with which the hub answers; {} if it does not answer with one."""
    answer = await _ask(url, token)
    try:
        content = json.loads(answer) if answer else {}
    except ValueError:
        # The proxy's page for a hub that is away.
        return {}
    return content if isinstance(content, dict) else {}


async def check_versions() -> list[Finding]:
    """Compare the packages of this environment with those that it was built from."""
    return [await in_thread(lambda: probe_versions(Path(sys.prefix)))]


def probe_versions(environment: Path) -> Finding:
    """Compare the packages of this environment, a folder, with its pins.txt."""
    path = environment / "pins.txt"
    try:
        pins = _PIN.findall(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return skipped(
            f"{path} is missing, so it is not known what should be installed here.",
            "Build the environment with deploy/site/install.",
        )
    wrong = [
        f"{name} is {found}, not {version}"
        for name, version in pins
        if (found := _installed_version(name)) != version
    ]
    if not wrong:
        return ok(f"all {len(pins)} packages of {environment} are as pinned.")
    more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
    return warning(
        f"{environment}: {'; '.join(wrong[:5])}{more}.", "Run deploy/site/install again."
    )


def _installed_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing"
