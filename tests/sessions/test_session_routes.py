"""What a session of the real portal answers to somebody who wants more of it than its user."""

import json
import os
import pwd
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient, sessions_of

pytestmark = pytest.mark.cluster

USER = "grace"
# A file that many a guide has people write.
SWITCHED_ON = {
    "ServerApp": {"jpserver_extensions": {"jupyter_server_proxy": True, "nbgitpuller": True}}
}
LISTENER = """
import os, socket, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
with socket.create_server(("127.0.0.1", 0)) as listening:
    with open(sys.argv[2] + ".new", "w") as file:
        file.write(str(listening.getsockname()[1]))
    os.rename(sys.argv[2] + ".new", sys.argv[2])
    while True:
        connection, _ = listening.accept()
        with open(sys.argv[1], "ab") as file:
            file.write(b"connected " + connection.recv(1000))
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello")
        connection.close()
"""
# With a header of its own a request follows no redirect.
PLAIN = {"Accept": "*/*"}
CONFIG = Path(".jupyter/jupyter_server_config.d/jupyter_server_proxy.json")


class Session:
    """A running session, asked by its own user."""

    def __init__(self) -> None:
        self.client = PortalClient(USER)
        self.client.login()
        self.token = self.client.token()
        self.client.stop(self.token)
        self.client.start(self.token)

    def pid(self) -> int:
        """Return the notebook server's process."""
        argv = ["pgrep", "-u", USER, "-f", "singleuser"]
        found = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
        return int(found[0])

    def job_id(self) -> str:
        (job,) = sessions_of(USER)
        return str(job.job_id)

    def ask(self, path: str, method: str = "GET", **headers: str) -> requests.Response:
        return requests.request(
            method,
            f"{ADDRESS}/user/{USER}/{path}",
            headers={"Authorization": f"token {self.token}", **headers},
            timeout=30,
            allow_redirects=not headers,
        )


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    account = pwd.getpwnam(USER)
    config = Path(account.pw_dir) / CONFIG
    made = [folder for folder in (config.parent.parent, config.parent) if not folder.exists()]
    for folder in made:
        folder.mkdir()
        os.chown(folder, account.pw_uid, account.pw_gid)
    config.write_text(json.dumps(SWITCHED_ON))
    config.chmod(0o644)
    session = Session()
    yield session
    session.client.stop(session.token)
    config.unlink()
    for folder in reversed(made):
        if not any(folder.iterdir()):
            folder.rmdir()


def control_groups(pid: int) -> Iterator[Path]:
    """Yield the files that take a process into the control groups of another one."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        file = Path("/sys/fs/cgroup", names.removeprefix("name="), path.strip("/"), "cgroup.procs")
        if path != "/" and file.exists():
            yield file


def join(groups: list[Path]) -> None:
    for file in groups:
        file.write_text(str(os.getpid()))


class Program:
    """A user's program on the node of the session."""

    def __init__(self, folder: Path, session: Session, user: str) -> None:
        self._arrived = folder / "arrived"
        self._arrived.touch()
        self._arrived.chmod(0o666)
        folder.chmod(0o777)
        port_file = folder / "port"
        into_the_node = ["nsenter", f"--target={session.pid()}", "--net", "--pid"]
        account = pwd.getpwnam(user)
        ids = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        program = ["/usr/bin/python3", "-c", LISTENER, str(self._arrived), str(port_file)]
        argv = [*into_the_node, "setpriv", *ids, *program]
        # As in a terminal of the session, though no user's process may be told apart by it.
        environ = {"PATH": os.environ["PATH"], "SLURM_JOB_ID": session.job_id()}
        groups = list(control_groups(session.pid())) if user == USER else []
        self.process = subprocess.Popen(
            argv, cwd="/", env=environ, stdin=subprocess.PIPE, preexec_fn=lambda: join(groups)
        )
        self.port = eventually(lambda: int(port_file.read_text()), timeout_s=20)

    def arrived(self) -> str:
        return self._arrived.read_text()


@contextmanager
def running_program(session: Session, user: str) -> Iterator[Program]:
    with tempfile.TemporaryDirectory(prefix="dsp-") as name:
        program = Program(Path(name), session, user)
        yield program
        # It ends with its input, as it is no child of this process.
        program.process.communicate(timeout=20)


@pytest.fixture
def neighbour(session: Session) -> Iterator[Program]:
    """Another user's program, which even says that it is of this session."""
    with running_program(session, "nobody") as program:
        yield program


@pytest.fixture
def own_program(session: Session) -> Iterator[Program]:
    with running_program(session, USER) as program:
        yield program


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_no_route_leads_to_all_ports_of_the_node(
    session: Session, neighbour: Program, method: str
) -> None:
    port = neighbour.port
    places = (f"127.0.0.1:{port}", f"localhost:{port}", f"absolute/127.0.0.1:{port}")
    places += (f"http:127.0.0.1:{port}", "unix+http:x")
    paths = [*(f"proxy/{place}/" for place in places), "server-proxy/servers-info"]

    statuses = {path: session.ask(path, method).status_code for path in paths}

    # The server has a handler for every address with a slash at its end, but of few methods.
    is_unknown_method = method in {"DELETE", "OPTIONS", "HEAD"}
    expected = {path: 405 if is_unknown_method and path[-1] == "/" else 404 for path in paths}
    assert statuses == expected
    assert neighbour.arrived() == ""


@pytest.mark.parametrize("prefix", ["proxy", "proxy/absolute"])
def test_addresses_of_jupyter_server_proxy_lead_to_the_checked_ones(
    session: Session, own_program: Program, neighbour: Program, prefix: str
) -> None:
    led_to = session.ask(f"{prefix}/{own_program.port}/a%2Fb?c=1&token=x", "POST", **PLAIN)
    without_slash = session.ask(f"{prefix}/{neighbour.port}", **PLAIN)

    assert led_to.status_code == without_slash.status_code == 307
    assert led_to.headers["Location"] == f"/user/{USER}/port/{own_program.port}/a%2Fb?c=1"
    assert without_slash.headers["Location"] == f"/user/{USER}/port/{neighbour.port}/"
    assert own_program.arrived() == neighbour.arrived() == ""


def test_what_is_typed_is_saved_every_half_minute(session: Session) -> None:
    answer = session.ask("lab/api/settings/@jupyterlab/docmanager-extension:plugin")

    assert answer.json()["schema"]["properties"]["autosaveInterval"]["default"] == 30


def test_language_servers_are_found_when_a_page_asks(session: Session) -> None:
    # Each page of JupyterLab and Notebook asks.
    answer = session.ask("lsp/status")

    assert answer.json()["sessions"] == {}
    assert "basedpyright" in answer.json()["specs"]


@pytest.mark.parametrize("path", ["git-pull/api", "git-sync", "interact"])
def test_a_link_alone_fetches_nothing_into_the_home(session: Session, path: str) -> None:
    answer = session.ask(f"{path}?repo=file:///srv/isilon&targetpath=fetched")

    assert answer.status_code == 404
    assert not (Path(pwd.getpwnam(USER).pw_dir) / "fetched").exists()


def test_a_log_stays_under_its_limit_and_keeps_the_end(session: Session) -> None:
    home = Path(pwd.getpwnam(USER).pw_dir)
    log = home / f".local/state/data-scientist-portal/logs/session-{session.job_id()}.log"

    with open(f"/proc/{session.pid()}/fd/2", "wb") as errors_of_the_server:
        for _ in range(25):
            errors_of_the_server.write(b"x" * (1024 * 1024 - 1) + b"\n")
        errors_of_the_server.write(b"the end\n")

    eventually(lambda: b"\nthe end\n" in log.read_bytes()[-4096:], timeout_s=30)
    assert log.stat().st_size <= 20 * 1024 * 1024


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *((path, 404) for path in ("absent", "tree/absent", "files/absent")),
        *((path, 200) for path in ("lab", "tree", "portal/jobs")),
    ],
)
def test_no_page_holds_the_sessions_token(session: Session, path: str, status: int) -> None:
    environ = Path(f"/proc/{session.pid()}/environ").read_bytes().split(b"\0")
    (token,) = (v[21:].decode() for v in environ if v.startswith(b"JUPYTERHUB_API_TOKEN="))

    page = session.ask(path)

    assert page.status_code == status
    assert "<html" in page.text
    assert token not in page.text
