"""A neighbour on the node who takes the port of a session that has just ended."""

import json
import pwd
import subprocess
import threading
from collections.abc import Callable, Iterator

import pytest
import requests

from deploy.one_machine.layout import HUB_STATE_DIR, log_path
from deploy.one_machine.supervisor import pid_of
from tests.support import parts
from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient, sessions_of

pytestmark = pytest.mark.cluster

VICTIM = "grace"
NEIGHBOUR = "ada"
PAGE = "a page of the neighbour"
PROXY_API = "http://127.0.0.1:8001/api/routes"
PYTHON = "/opt/data-scientist-portal/environments/server/bin/python"
CLIENT_HELLO = b"\x16\x03"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "bmVpZ2hib3VyIQ==",
}
# Takes the port as soon as it is free; then answers every other connection by TLS, with a
# certificate as sessions have one. Prints what it was sent.
PROGRAM = """\
import json, select, socket, ssl, sys, tempfile, time
from spawner.certificates import make_identity

address, port, page = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode()
answer = b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(page) + page
with tempfile.NamedTemporaryFile("w") as file:
    file.write("".join(make_identity("neighbour", address)))
    file.flush()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(file.name)
print("waits", flush=True)
while True:
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind((address, port))
        server.listen()
        break
    except OSError:
        server.close()
        select.select([], [], [], 0.001)
print("has the port", flush=True)
server.settimeout(0.2)
was_sent = []
while len(was_sent) < 8 and not select.select([sys.stdin], [], [], 0)[0]:
    try:
        connection, _ = server.accept()
    except TimeoutError:
        continue
    connection.settimeout(2)
    with connection:
        text = b""
        try:
            if len(was_sent) % 2:
                connection = tls.wrap_socket(connection, server_side=True)
                text = b"by TLS: "
            text += connection.recv(65536)
            connection.sendall(answer)
        except OSError as error:
            pass
        was_sent.append(text.hex())
print(json.dumps(was_sent), flush=True)
"""


@pytest.fixture
def victim() -> Iterator[PortalClient]:
    """A user with a session and its cookies."""
    victim = PortalClient(VICTIM)
    victim.login()
    token = victim.token()
    victim.rest("POST", f"/users/{VICTIM}/server", token, json={"gpus": 1}).raise_for_status()
    try:
        eventually(lambda: is_own(look(victim)), timeout_s=120)
        page = victim.http.get(f"{ADDRESS}/user/{VICTIM}/tree", timeout=60)
        assert any(cookie.name.startswith("jupyterhub-user-") for cookie in victim.http.cookies), (
            page.text[-500:]
        )
        yield victim
    finally:
        parts.start("hub")
        victim.rest("DELETE", f"/users/{VICTIM}/server", token)
        eventually(lambda: sessions_of(VICTIM) == [], timeout_s=60)


def look(victim: PortalClient, **headers: str) -> requests.Response:
    return victim.http.get(f"{ADDRESS}/user/{VICTIM}/api", headers=headers, timeout=30)


def is_own(answer: requests.Response) -> bool:
    return answer.status_code == 200 and "version" in answer.text


def routes() -> dict[str, dict[str, str]]:
    answer = requests.get(PROXY_API, headers=hub_headers(), timeout=30)
    answer.raise_for_status()
    return dict(answer.json())


def hub_headers() -> dict[str, str]:
    return {"Authorization": f"token {(HUB_STATE_DIR / 'proxy-token').read_text().strip()}"}


def cancel() -> None:
    for job in sessions_of(VICTIM):
        subprocess.run(["scancel", str(job.job_id)], check=True, timeout=30)


def kill_server() -> None:
    argv = ["pkill", "-KILL", "-u", VICTIM, "-f", "bin/dsportal-singleuser"]
    subprocess.run(argv, check=True, timeout=30)


@pytest.mark.parametrize("end", [cancel, kill_server])
def test_a_neighbour_who_takes_an_ended_sessions_port_gets_and_serves_nothing_without_the_hub(
    victim: PortalClient, end: Callable[[], None]
) -> None:
    (job,) = sessions_of(VICTIM)
    address, port = routes()[f"/user/{VICTIM}"]["target"].removeprefix("https://").split(":")
    neighbour_id = pwd.getpwnam(NEIGHBOUR).pw_uid
    with subprocess.Popen(
        [
            *("nsenter", f"--target={node_pid(job.node)}", "--net", "--mount", "--pid", "--root"),
            *(f"--setuid={neighbour_id}", f"--setgid={neighbour_id}", "--"),
            *(PYTHON, "-c", PROGRAM, address, port, PAGE),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as neighbour:
        assert neighbour.stdout is not None
        assert neighbour.stdin is not None
        assert neighbour.stdout.readline() == "waits\n"
        parts.stop("hub")
        answers: list[requests.Response] = []
        is_over = threading.Event()
        browser = threading.Thread(target=keep_asking, args=(victim, answers, is_over))
        browser.start()
        try:
            end()
            assert neighbour.stdout.readline() == "has the port\n"
            was_sent = [bytes.fromhex(text) for text in json.loads(neighbour.stdout.readline())]
        finally:
            is_over.set()
            browser.join()
            neighbour.stdin.close()

    assert len(was_sent) == 8
    assert all(text == b"" or text.startswith(CLIENT_HELLO) for text in was_sent)
    assert not any(word in text for text in was_sent for word in (b"Cookie", b"jupyterhub", b"GET"))
    assert [answer.text for answer in answers if PAGE in answer.text] == []
    assert any(answer.status_code == 503 for answer in answers)


def node_pid(node: str) -> int:
    pid = pid_of(node)
    assert pid is not None
    return pid


def keep_asking(
    victim: PortalClient, answers: list[requests.Response], is_over: threading.Event
) -> None:
    """Ask as an open tab does, and for websockets too."""
    while not is_over.wait(0.02):
        for headers in ({}, UPGRADE):
            try:
                answers.append(look(victim, **headers))
            except requests.ConnectionError:
                continue


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("https://10.77.0.1:8081/hub/api", 200),
        # For sessions that were started before internal TLS was switched on.
        ("http://10.77.0.1:8081/hub/api", 200),
        ("https://10.77.0.1:8081/hub/login", 404),
        ("https://10.77.0.1:8081/user/grace/api", 404),
    ],
)
def test_sessions_reach_the_hubs_api_and_nothing_else_where_the_proxy_listens_for_them(
    url: str, status: int
) -> None:
    authority = HUB_STATE_DIR / "certificates/authority.pem"

    assert requests.get(url, verify=str(authority), timeout=30).status_code == status


def test_a_server_that_is_told_to_end_tells_the_hub_first(victim: PortalClient) -> None:
    n_seen = log_path("hub").stat().st_size

    cancel()

    eventually(lambda: f"/user/{VICTIM}" not in routes(), timeout_s=60)
    eventually(lambda: sessions_of(VICTIM) == [], timeout_s=60)
    said = log_path("hub").read_bytes()[n_seen:].decode()
    assert "202 DELETE /hub/api/dsportal/session?because=exit" in said


@pytest.mark.parametrize(
    "route",
    [
        {"target": "https://10.77.0.11:30000"},
        {"target": "https://10.77.0.11:30000", "certificate": "no certificate"},
        {"target": "http://10.77.0.11:30000", "certificate": "no certificate"},
    ],
    ids=["without a certificate", "with none that is one", "by plain HTTP"],
)
def test_the_proxy_takes_no_route_whose_session_it_could_not_recognise(
    route: dict[str, str],
) -> None:
    answer = requests.post(
        f"{PROXY_API}/user/nobody", json=route, headers=hub_headers(), timeout=30
    )

    assert answer.status_code == 400
    assert "/user/nobody" not in routes()


def test_a_session_talks_to_nobody_without_the_hubs_certificate(victim: PortalClient) -> None:
    url = routes()[f"/user/{VICTIM}"]["target"]
    (job,) = sessions_of(VICTIM)

    # What its user and everybody on the node could try.
    with pytest.raises(subprocess.CalledProcessError):
        parts.on_node(job.node, "curl", "--silent", "--insecure", f"{url}/user/{VICTIM}/api")
