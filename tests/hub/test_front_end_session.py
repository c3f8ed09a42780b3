"""A session of the real portal behind the TLS front end of the example: ssh and a large upload."""

import asyncio
import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from tests.hub.private_nginx import FrontEnd, find_nginx, running_nginx
from tests.hub.private_slapd import Authority
from tests.sessions.test_ssh import USER, said
from tests.support.laptop import NAME, Laptop
from tests.support.portal_client import PortalClient
from tests.support.websockets import close_websocket

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.release,
    pytest.mark.skipif(not find_nginx().exists(), reason=f"{find_nginx()} is needed"),
]
PUBLIC_PORT = 8000
SIZE_BYTES = 300_000_000
# As the page sends it.
CHUNK_BYTES = 4 * 1024 * 1024
# Where nginx gives up a quiet connection unless it is told otherwise.
QUIET_S = 65
FILE = "through-the-front-end.bin"


@dataclass(frozen=True)
class Portal:
    """The portal as users see it: where it is, and what the front end wrote into its log."""

    url: str
    error_log: Path


@pytest.fixture(scope="module")
def client() -> PortalClient:
    client = PortalClient(USER)
    client.login().raise_for_status()
    return client


@pytest.fixture(scope="module")
def token(client: PortalClient) -> Iterator[str]:
    token = client.token()
    client.stop(token)
    client.start(token, gpus=2)
    yield token
    client.stop(token)


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Portal]:
    folder = tmp_path_factory.mktemp("front-end-session") / "nginx"
    front_end = FrontEnd.on_free_ports()
    with running_nginx(folder, front_end, authority, PUBLIC_PORT):
        yield Portal(front_end.url, folder / "error.log")


@pytest.fixture(scope="module")
def laptop(
    tmp_path_factory: pytest.TempPathFactory, portal: Portal, authority: Authority, token: str
) -> Laptop:
    home = tmp_path_factory.mktemp("laptop")
    laptop = Laptop(home, portal.url, authority.certificate)
    done = laptop.set_up(token)
    assert done.returncode == 0, done.stderr
    return laptop


def test_the_offered_program_connects_through_tls(laptop: Laptop) -> None:
    assert said(laptop.ssh(NAME, "id -un")) == f"{USER}\n"


def test_a_page_may_ask_where_tls_has_a_port_of_its_own(
    portal: Portal, token: str, authority: Authority
) -> None:
    """As a browser asks: with cookies and its Origin, which has the port."""
    browser = PortalClient(USER, address=portal.url)
    browser.http.verify = str(authority.certificate)
    # Else the authorities that the environment names are asked in its place.
    browser.http.trust_env = False
    browser.login().raise_for_status()
    lab = browser.http.get(f"{portal.url}/user/{USER}/lab", timeout=60)
    assert lab.url.startswith(f"{portal.url}/user/{USER}/lab"), lab.url
    xsrf = browser.xsrf_of(f"/{USER}/")
    browser.http.headers.update({"Origin": portal.url, "X-XSRFToken": xsrf})

    assert browser.http.get(f"{portal.url}/user/{USER}/api/status", timeout=60).status_code == 200
    websocket = f"wss{portal.url.removeprefix('https')}/user/{USER}/api/events/subscribe"
    cookies = "; ".join(f"{one.name}={one.value}" for one in browser.http.cookies)
    headers = {"Cookie": cookies, "Origin": portal.url}
    asyncio.run(connect(websocket, headers, authority.certificate))


async def connect(url: str, headers: dict[str, str], certificate: Path) -> None:
    request = HTTPRequest(url, headers=headers, ca_certs=str(certificate), connect_timeout=30)
    await close_websocket(await websocket_connect(request))


def test_a_connection_on_which_nothing_is_said_stays(laptop: Laptop) -> None:
    assert said(laptop.ssh(NAME, f"sleep {QUIET_S}; echo there")) == "there\n"


def test_a_large_upload_arrives_whole_and_fills_no_disk_of_the_front_end(
    portal: Portal, laptop: Laptop, authority: Authority, token: str
) -> None:
    random_bytes = random.Random(1)
    sent = hashlib.sha256()
    with requests.Session() as http:
        http.trust_env = False
        http.verify = str(authority.certificate)
        http.headers["Authorization"] = f"token {token}"
        for offset in range(0, SIZE_BYTES, CHUNK_BYTES):
            chunk = random_bytes.randbytes(min(CHUNK_BYTES, SIZE_BYTES - offset))
            sent.update(chunk)
            answer = http.put(
                f"{portal.url}/user/{USER}/portal/api/uploads",
                params={"path": FILE, "size": SIZE_BYTES, "modified": 1, "offset": offset},
                data=chunk,
                timeout=60,
            )
            assert answer.status_code == 200, answer.text

    arrived = said(laptop.ssh(NAME, f"sha256sum {FILE}; rm {FILE}"))

    assert arrived.split()[0] == sent.hexdigest()
    assert "temporary file" not in portal.error_log.read_text()
