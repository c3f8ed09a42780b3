"""A session of a portal at /jupyter/ with further storage: its own hub on the real cluster."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from playwright.sync_api import Browser, BrowserContext, Page, Response, expect

from deploy.one_machine import directory
from deploy.one_machine.accounts import ACCOUNT
from deploy.one_machine.layout import PORTAL_TOML, PREFIX_DIR
from tests.support.eventually import eventually
from tests.support.portal_client import demo_password, sessions_of
from tests.support.private_hub import free_ports

pytestmark = pytest.mark.cluster

USER = "ada"
BASE_URL = "/jupyter/"
STORAGE = "scratch-of-a-test"
HUB_BIN = PREFIX_DIR / "environments/hub/bin"
START_TIMEOUT_MS = 90_000


class PortalBelow:
    """Proxy and hub as installed, with the settings of this machine but for ports and path.

    Args:
        tables: Further tables of portal.toml.
    """

    def __init__(self, tables: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="portal-below-", dir="/tmp"))
        shutil.chown(self.folder, ACCOUNT, ACCOUNT)
        api_port, public_port, proxy_port = free_ports(3)
        self.root = f"http://127.0.0.1:{public_port}"
        self.url = f"{self.root}{BASE_URL.rstrip('/')}"
        text = PORTAL_TOML.read_text()
        for key, value in (
            ("api_port", str(api_port)),
            ("public_port", f'{public_port}\nbase_url = "{BASE_URL}"'),
            ("proxy_api_url", f'"http://127.0.0.1:{proxy_port}"'),
            ("state_dir", f'"{self.folder}"'),
        ):
            text, n_set = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.M)
            assert n_set == 1, key
        self.settings = self.folder / "portal.toml"
        self.settings.write_text(
            f"{text}\n[storage.{STORAGE}]\npath = '/srv'\nlabel = 'Fast disks'\n{tables}"
        )
        token, key = secrets.token_hex(32), secrets.token_hex(32)
        self.environment = {"CONFIGPROXY_AUTH_TOKEN": token, "JUPYTERHUB_CRYPT_KEY": key}
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start both; return when users reach the hub."""
        (config,) = HUB_BIN.parent.glob("lib/*/site-packages/portal/hub/jupyterhub_config.py")
        self.start_proxy()
        eventually(lambda: requests.get(self.root, timeout=5).status_code == 503, timeout_s=30)
        self._run(
            [HUB_BIN / "python", "-m", "jupyterhub", "--config", config],
            PORTAL_TOML=str(self.settings),
            LDAP_READER_PASSWORD=directory.reader_password(),
        )
        eventually(lambda: requests.get(f"{self.url}/hub/health", timeout=5).ok, timeout_s=90)

    def start_proxy(self) -> None:
        """Start the proxy alone."""
        self.proxy = self._run([HUB_BIN / "dsportal", "run", "proxy", "--settings", self.settings])

    def kill_proxy(self) -> None:
        """End the proxy as a crash would."""
        self.proxy.kill()
        self.proxy.wait(30)
        self.processes.remove(self.proxy)

    def _run(self, argv: list[str | Path], **environment: str) -> subprocess.Popen[bytes]:
        own: Mapping[str, str] = {
            "PATH": f"{HUB_BIN}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
        }
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                argv,
                cwd=self.folder,
                env={**own, **self.environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=ACCOUNT,
                group=ACCOUNT,
                extra_groups=[],
                umask=0o077,
            )
        self.processes.append(process)
        return process

    def close(self) -> None:
        """End both, the hub first, and take their folder away."""
        # A proxy that was started again would be the first.
        for process in sorted(self.processes, key=lambda one: one is self.proxy):
            process.terminate()
            process.wait(30)
        shutil.rmtree(self.folder)


@pytest.fixture(scope="module")
def portal() -> Iterator[PortalBelow]:
    """Yield the portal; no session is left behind."""
    portal = PortalBelow()
    try:
        portal.start()
        yield portal
    finally:
        portal.close()
        for job in sessions_of(USER):
            subprocess.run(["scancel", str(job.job_id)], check=True, timeout=30)
        eventually(lambda: not sessions_of(USER), timeout_s=60)
        Path("/home", USER, STORAGE).unlink(missing_ok=True)


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(viewport={"width": 1280, "height": 860})
    context.set_default_timeout(30_000)
    yield context
    context.close()


@pytest.mark.release
def test_a_user_logs_in_works_opens_a_tensorboard_and_logs_out(
    context: BrowserContext, portal: PortalBelow
) -> None:
    answers: list[Response] = []
    context.on("response", lambda answer: answers.append(answer))
    page = context.new_page()

    # The bare address leads to the portal.
    page.goto(f"{portal.root}/")
    page.wait_for_url(f"{portal.url}/hub/login*")
    page.get_by_label("Username").fill(USER)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{portal.url}/hub/home")
    page.get_by_role("link", name="My Server").click()
    # The form's script asks anew, and changes the link.
    with page.expect_response(re.compile(f"{BASE_URL}hub/portal/choices/{USER}")):
        page.locator("input[name=hours]").last.check(force=True)
        page.locator("input[name=gpus][value='1']").check(force=True)
    expect(page.locator("#choice-link")).to_have_attribute(
        "href", re.compile(rf"{BASE_URL}hub/spawn\?.*gpus=1")
    )
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(f"{portal.url}/user/{USER}/lab**", timeout=START_TIMEOUT_MS)
    expect(page.locator(".jp-DirListing-item").first).to_be_visible(timeout=60_000)
    expect(page.get_by_text(STORAGE, exact=True).first).to_be_visible()
    board = open_board(page, portal)
    page.goto(f"{portal.url}/hub/home")
    expect(page.get_by_text("Fast disks").first).to_be_visible()
    page.locator("#stop").click()
    expect(page.locator("#session-state")).to_have_text("Not running", timeout=60_000)
    page.locator("#login_widget summary").click()
    page.locator("#logout").click()
    page.wait_for_url(f"{portal.url}/hub/login*")

    assert board.startswith(f"{BASE_URL}user/{USER}/portal/tensorboards/")
    paths = {urlsplit(answer.url).path for answer in answers if answer.url.startswith("http")}
    assert {path for path in paths if not path.startswith(BASE_URL)} == {"/"}
    # JupyterLab asks for what was open in an earlier test, which may be gone.
    of_files = f"{portal.url}/user/{USER}/api/"
    refused = {(answer.status, answer.url) for answer in answers if answer.status >= 400}
    assert not {(status, url) for status, url in refused if not url.startswith(of_files)}


def open_board(page: Page, portal: PortalBelow) -> str:
    """Open a TensorBoard in a tab; return its path."""
    cookies = {
        cookie["path"]: cookie["value"]
        for cookie in page.context.cookies()
        if cookie["name"] == "_xsrf"
    }
    answer = page.request.post(
        f"{portal.url}/user/{USER}/portal/api/tensorboards",
        data={"logdir": "templates"},
        headers={"X-XSRFToken": cookies[f"{BASE_URL}user/{USER}/"]},
    )
    assert answer.ok, answer.text()
    url = str(answer.json()["url"])
    tab = page.context.new_page()
    tab.goto(f"{portal.root}{url}")
    expect(tab).to_have_title(re.compile("TensorBoard$"))
    expect(tab.locator("tb-webapp")).to_be_visible()
    tab.close()
    return url
