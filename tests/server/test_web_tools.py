"""A web tool of the site in a real notebook server: shown to its user, and to nobody else."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from portal.server.web_tools.handlers import offered_tools
from tests.support.eventually import eventually
from tests.support.namespaces import users_can_make_network_namespaces
from tests.support.notebook_server import NotebookServer, descendants, is_alive
from tests.support.tensorboard_contract import listening_inodes, sockets_of
from tests.support.told import tables

USER, ANOTHER_USER = 12345, 65534
ON_A_SOCKET = """
import http.server, os, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Security-Policy", "img-src 'none'")
        self.end_headers()
        token, prefix = map(os.environ.get, ["JUPYTERHUB_API_TOKEN", "PORTAL_TOOL_PREFIX"])
        self.wfile.write(f"{self.path} {token} {prefix}".encode())
    address_string = lambda self: "socket"
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer): pass
os.umask(0o177)
Server(sys.argv[1], Handler).serve_forever()
"""
TOOLS = {
    "files": {
        "title": "Files",
        "command": [
            *("/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1"),
            *("--directory", "/usr/share/common-licenses", "{port}"),
        ],
    },
    "own": {
        "title": "",
        "command": ["/usr/bin/python3", "-c", ON_A_SOCKET, "{unix_socket}"],
    },
}
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become two other users")


@pytest.fixture(scope="module")
def server(tensorboard_python: Path) -> Iterator[NotebookServer]:
    """A server of an ordinary user, in a folder that every user can look into."""
    with tempfile.TemporaryDirectory(prefix="dsp-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        environ = {"JUPYTER_NO_CONFIG": "1", "PORTAL_SETTINGS": json.dumps({"tools": TOOLS})}
        environ["TMPDIR"] = str(folder / "tmp")
        user_id = USER if os.getuid() == 0 else None
        server = NotebookServer(folder, tensorboard_python, environ=environ, user_id=user_id)
        for path in (folder, server.root, server.tmp_dir):
            path.chmod(0o755)
        yield server
        server.stop()


def address_of(server: NotebookServer, title: str) -> str:
    tools = server.http.get(f"{server.host}/user/ada/portal/api/tools", timeout=10).json()
    return server.host + str({tool["title"]: tool["url"] for tool in tools}[title])


def test_a_tool_that_listens_on_a_port_is_opened_behind_the_login(server: NotebookServer) -> None:
    if not users_can_make_network_namespaces():
        pytest.skip("this machine does not let users make network namespaces")
    url = address_of(server, "Files")

    page = server.http.get(url, timeout=60)

    assert page.status_code == 200
    assert "GPL-3" in page.text
    assert server.http.get(f"{url}GPL-3", timeout=30).text.startswith(" ")
    assert requests.get(url, timeout=10, allow_redirects=False).status_code == 302


def test_a_tool_on_a_socket_gets_its_address_and_no_token_of_the_session(
    server: NotebookServer,
) -> None:
    url = address_of(server, "own")

    answer = server.http.get(f"{url}page", timeout=60)

    assert answer.text == f"/page None {url.removeprefix(server.host).rstrip('/')}"


def test_pages_of_a_tool_are_kept_apart_from_the_portal_beside_what_the_tool_forbids(
    server: NotebookServer,
) -> None:
    url = address_of(server, "own")

    headers = server.http.get(f"{url}page", timeout=60).headers

    own, policy = headers["Content-Security-Policy"].split(", ")
    assert own == "img-src 'none'"
    assert f"connect-src blob: data: {url.partition('://')[2]} " in policy
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_no_tool_opens_a_port_of_the_node(server: NotebookServer) -> None:
    for title in ("Files", "own"):
        server.http.get(address_of(server, title), timeout=60)
    pids = descendants(server.process.pid)

    assert len(pids) >= 2
    assert sockets_of(pids) & listening_inodes() == set()


@needs_root
def test_another_user_of_the_node_reaches_no_socket(server: NotebookServer) -> None:
    for title in ("Files", "own"):
        server.http.get(address_of(server, title), timeout=60)
    sockets = [path for path in server.tmp_dir.rglob("*") if path.is_socket()]
    assert len(sockets) >= 3, "two tools and the one for kernels"

    for socket in sockets:
        argv = ["curl", "--silent", "--max-time", "5", "--unix-socket", str(socket), "http://x/"]
        stranger = subprocess.run(argv, user=ANOTHER_USER, extra_groups=[], capture_output=True)
        assert (stranger.returncode, stranger.stdout) == (7, b""), "curl could not connect"


@needs_root
def test_another_user_of_the_node_gets_nothing_from_any_address(server: NotebookServer) -> None:
    """Every TCP port that the user's processes listen on, asked by somebody else."""
    pids = [server.process.pid, *descendants(server.process.pid)]
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = {fields[9]: int(fields[1].partition(":")[2], 16) for fields in lines}
    ports = [
        listening[inode] for inode in sockets_of(pids) & listening_inodes() if inode in listening
    ]
    assert ports, "the server itself listens"

    for port in ports:
        for path in ("api", "portal/jobs", "portal/api/jobs", "portal/api/tools"):
            argv = ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}"]
            argv += ["--max-time", "5", f"http://127.0.0.1:{port}/user/ada/{path}"]
            answer = subprocess.run(
                argv, user=ANOTHER_USER, extra_groups=[], capture_output=True, text=True
            )
            assert answer.stdout in ({"200"} if path == "api" else {"302", "403"}), path


def test_tools_end_with_a_server_that_is_killed(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> None:
    environ = {"JUPYTER_NO_CONFIG": "1", "PORTAL_SETTINGS": json.dumps({"tools": TOOLS})}
    server = NotebookServer(tmp_path_factory.mktemp("killed"), tensorboard_python, environ=environ)
    for title in ("Files", "own"):
        server.http.get(address_of(server, title), timeout=60)
    pids = descendants(server.process.pid)
    assert len(pids) >= 2

    server.kill()

    eventually(lambda: not any(is_alive(pid) for pid in pids), timeout_s=5)


def test_a_tool_that_is_not_on_this_node_is_not_offered() -> None:
    absent = {"command": ["/opt/absent/tool", "{unix_socket}"]}

    assert offered_tools(tables(tools={"t": absent})) == ()


def test_braces_of_a_command_are_kept() -> None:
    table = {"command": [sys.executable, "{a}", "{unix_socket}"]}

    (tool,) = offered_tools(tables(tools={"t": table}))

    assert tool.title == "t"
    assert tool.argv()[-2:] == ["{{a}}", "{unix_socket}"]
