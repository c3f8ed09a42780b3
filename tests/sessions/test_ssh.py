"""OpenSSH's own programs on a laptop, through the real proxy, into a session of the real portal."""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from tests.support.laptop import NAME, Laptop
from tests.support.portal_client import PortalClient, sessions_of

pytestmark = pytest.mark.cluster

USER, ANOTHER = "grace", "ada"
PORT_PROGRAM = """
import socket
with socket.create_server(("127.0.0.1", 0)) as listening:
    print(listening.getsockname()[1], flush=True)
    connection, _ = listening.accept()
    connection.sendall(b"of the session")
"""
# Nobody else sleeps as long.
LONG_SLEEP = ["sleep", "31556952"]
# Answers each line on a unix socket, as the server of an editor would.
LISTENER = """
import os, socket, sys
with socket.socket(socket.AF_UNIX) as listening:
    listening.bind(sys.argv[1])
    listening.listen()
    print("listens", flush=True)
    connection, _ = listening.accept()
    os.unlink(sys.argv[1])
    connection.sendall(b"of the session: " + connection.recv(100))
"""


@pytest.fixture(scope="module")
def client() -> PortalClient:
    client = PortalClient(USER)
    client.login().raise_for_status()
    return client


@pytest.fixture(scope="module")
def token(client: PortalClient) -> str:
    return client.token()


@pytest.fixture(scope="module")
def session(client: PortalClient, token: str) -> Iterator[None]:
    client.stop(token)
    client.start(token, gpus=2)
    yield
    client.stop(token)


@pytest.fixture(scope="module")
def laptop(tmp_path_factory: pytest.TempPathFactory, session: None, token: str) -> Laptop:
    laptop = Laptop(tmp_path_factory.mktemp("laptop"))
    done = laptop.set_up(token)
    assert done.returncode == 0, done.stderr
    return laptop


def said(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_command_runs_in_the_session_on_its_node(laptop: Laptop) -> None:
    (job,) = sessions_of(USER)
    command = 'hostname; id -un; echo "$SLURM_JOB_ID"; echo "$HOME"; cat /proc/self/cgroup'

    lines = said(laptop.ssh(NAME, command)).splitlines()

    assert lines[:3] == [job.node, USER, str(job.job_id)]
    assert lines[3].endswith(USER)


def test_a_command_has_what_a_terminal_of_the_session_has(laptop: Laptop) -> None:
    environ = dict(
        line.split("=", 1) for line in said(laptop.ssh(NAME, "env")).splitlines() if "=" in line
    )

    assert environ["CUDA_VISIBLE_DEVICES"].count(",") == 1
    assert environ["PORTAL_COMMANDS"] in environ["PATH"].split(":")
    # They would shape the user's next job, or are the session's own.
    assert not {"SLURM_NTASKS", "SLURM_MEM_PER_NODE", "JUPYTERHUB_API_TOKEN"} & set(environ)


def test_a_terminal_says_when_the_session_ends(laptop: Laptop) -> None:
    done = laptop.ssh("-tt", NAME, text="command -v dsportal; exit\n")

    assert "You are in your session, which ends in " in done.stdout
    assert "/commands/dsportal" in done.stdout


def test_files_are_copied_both_ways(laptop: Laptop) -> None:
    data = os.urandom(3_000_000)
    (laptop.home / "up").write_bytes(data)
    batch = "put up ssh-test\nget ssh-test down\nrm ssh-test\n"

    said(laptop.run("sftp", *laptop.options, "-b", "-", NAME, text=batch))
    said(laptop.run("scp", *laptop.options, "up", f"{NAME}:ssh-test"))
    said(laptop.portal("cp", ":ssh-test", "again"))
    said(laptop.ssh(NAME, "rm ssh-test"))

    assert (laptop.home / "down").read_bytes() == data
    assert (laptop.home / "again").read_bytes() == data


def test_a_port_of_the_node_is_forwarded(laptop: Laptop) -> None:
    command = f"exec python3 -c '{PORT_PROGRAM}'"
    with laptop.running("ssh", *laptop.options, NAME, command) as program:
        port = int(first_line(program))

        assert said(laptop.ssh("-W", f"localhost:{port}", NAME)) == "of the session"


def first_line(program: subprocess.Popen[str]) -> str:
    assert program.stdout is not None
    return program.stdout.readline()


def test_no_port_is_opened_on_the_node(laptop: Laptop) -> None:
    done = laptop.ssh("-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:1", NAME, "true")

    assert done.returncode == 255
    assert "remote port forwarding failed" in done.stderr


def test_a_socket_of_an_editors_server_is_forwarded(laptop: Laptop) -> None:
    there, here = "/tmp/dsp-ssh-test.sock", laptop.home / "here.sock"
    forward = ("-o", "StreamLocalBindUnlink=yes", "-L", f"{here}:{there}")
    command = f"rm -f {there}; exec python3 -c '{LISTENER}' {there}"
    with laptop.running("ssh", *laptop.options, *forward, NAME, command) as program:
        assert first_line(program) == "listens\n"
        with socket.socket(socket.AF_UNIX) as editor:
            editor.settimeout(30)
            editor.connect(str(here))
            editor.sendall(b"hello")
            assert editor.recv(100) == b"of the session: hello"
        assert program.wait(timeout=30) == 0


def test_a_wrong_host_is_noticed(laptop: Laptop, tmp_path: Path) -> None:
    home = laptop.home / ".ssh/dsportal" / NAME
    argv = ("ssh", *laptop.options, "-o", f"UserKnownHostsFile={tmp_path / 'none'}", NAME, "true")

    assert "Host key verification failed" in laptop.run(*argv).stderr
    assert (home / "token").stat().st_mode & 0o077 == 0
    assert (home / "key").stat().st_mode & 0o077 == 0


def test_the_token_of_another_user_is_refused(laptop: Laptop, tmp_path: Path) -> None:
    another = PortalClient(ANOTHER)
    another.login().raise_for_status()
    theirs = Laptop(tmp_path)
    said(theirs.set_up(another.token()))
    # What only somebody with bad intentions does: the victim's name in place of one's own.
    refused = theirs.run(
        *(shutil.which("python3") or "python3", "-c", _AS_ANOTHER, str(theirs.archive), USER)
    )

    assert refused.returncode == 1
    assert "dsportal: " in refused.stderr
    assert "host_key" not in refused.stdout


_AS_ANOTHER = """
import sys
sys.path.insert(0, sys.argv[1])
from dsportal.laptop import cli, rest
rest.Portal.me = lambda self: {"name": sys.argv[2]}
sys.exit(cli.main(["proxy", "gpu-session"]))
"""


def test_a_revoked_token_is_refused_in_words(
    client: PortalClient, token: str, session: None, tmp_path: Path
) -> None:
    made = client.rest("POST", f"/users/{USER}/tokens", token, json={"expires_in": 3600}).json()
    laptop = Laptop(tmp_path)
    said(laptop.set_up(made["token"]))
    client.rest("DELETE", f"/users/{USER}/tokens/{made['id']}", token).raise_for_status()

    done = laptop.ssh(NAME, "true")

    assert done.returncode == 255
    assert "The portal refuses your token: it has expired or was revoked." in done.stderr
    assert "/hub/token" in done.stderr


@pytest.mark.parametrize("header", [None, "x", f"token {'0' * 32}"])
def test_a_cookie_opens_nothing_whatever_stands_where_the_token_should(
    client: PortalClient, session: None, header: str | None
) -> None:
    page = client.http.get(f"{client.address}/user/{USER}/lab", timeout=30)
    page.raise_for_status()
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        # Left out if None.
        "Authorization": header,
    }

    answer = client.http.get(
        f"{client.address}/user/{USER}/portal/ssh", headers=upgrade, timeout=30
    )

    assert answer.status_code == 403
    assert "needs a token" in answer.json()["message"]


def sleeping() -> list[Path]:
    """Return the processes that run the long sleep, whatever their number on their node is."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_text().split("\0")[:-1] == LONG_SLEEP:
                found.append(path)
    return found


def test_the_end_of_the_session_ends_the_connection_and_what_it_has_started(
    client: PortalClient, token: str, laptop: Laptop
) -> None:
    # Its connection ends, and leaves it behind.
    said(laptop.ssh(NAME, " ".join(["exec", "nohup", *LONG_SLEEP, ">/dev/null", "2>&1", "&"])))
    command = "echo here; cat"
    with laptop.running("ssh", *laptop.options, NAME, command) as program:
        assert first_line(program) == "here\n"
        eventually(sleeping, timeout_s=30)

        client.stop(token)

        assert program.wait(timeout=60) != 0
    eventually(lambda: not sleeping(), timeout_s=30)
    assert "Your session does not run" in laptop.proxy().stderr
    client.start(token, gpus=2)
    # With the host key of the new session, and without a question.
    assert said(laptop.ssh(NAME, "echo again")) == "again\n"
