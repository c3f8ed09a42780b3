"""A neighbour: another user's program on the node of a session."""

import json
import pwd
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.security.conftest import ATTACKER, VICTIM, LoggedIn, Session
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).parent / "neighbour.py"
ASKED = [
    f"/user/{VICTIM}/{path}"
    for path in ("lab", "tree", "api/status", "api/contents", "api/terminals", "api/kernels",
                 "api/me", "files/x", "metrics", "portal/api/session", "portal/api/jobs",
                 "portal/api/tensorboards")
]  # fmt: skip


@pytest.fixture(scope="module")
def kernel_pids(session: Session, victim: LoggedIn) -> list[int]:
    """Return the processes of the session, a kernel and a terminal among them."""
    prefix = f"/user/{VICTIM}/api"
    assert victim.ask("POST", f"{prefix}/kernels", json={"name": "python3"}).status_code == 201
    assert victim.ask("POST", f"{prefix}/terminals").status_code == 200
    pids: list[int] = eventually(lambda: _of_session(session.pid, n_least=3), timeout_s=60)
    return pids


def _of_session(pid: int, *, n_least: int) -> list[int]:
    children = Path(f"/proc/{pid}/task").glob("*/children")
    pids = [int(child) for path in children for child in path.read_text().split()]
    return [pid, *pids] if len(pids) + 1 >= n_least else []


@pytest.fixture(scope="module")
def found(session: Session, kernel_pids: list[int]) -> dict[str, Any]:
    """Return what the neighbour got."""
    known = {
        "pids": kernel_pids,
        "paths": private_paths(),
        "address": session.address,
        "port": session.port,
        "asked": ASKED,
    }
    account = pwd.getpwnam(ATTACKER)
    # The network of the node, and every process of the machine: more than a job there sees.
    argv = ["nsenter", f"--target={session.pid}", "--net", "--setgid", str(account.pw_gid)]
    argv += ["--setuid", str(account.pw_uid), "/usr/bin/python3", "-I", "-c"]
    done = subprocess.run(
        [*argv, PROGRAM.read_text(), json.dumps(known)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    got: dict[str, Any] = json.loads(done.stdout)
    assert got["uid"] == account.pw_uid
    return got


def private_paths() -> list[str]:
    """Return files and folders that are a session's own."""
    home = Path(pwd.getpwnam(VICTIM).pw_dir)
    logs = home / ".local/state/data-scientist-portal/logs"
    runtime = home / ".local/share/jupyter/runtime"
    paths = [home / ".jupyter", home / ".ipython", *logs.glob("*.log"), *runtime.glob("*")]
    paths += [
        Path("/var/lib/data-scientist-portal/hub"),
        Path("/var/log/data-scientist-portal/hub.log"),
    ]
    paths += [Path("/var/lib/data-scientist-portal/demo-password"), Path("/etc/munge/munge.key")]
    existing = [str(path) for path in paths if path.exists()]
    assert any("session-" in path for path in existing)
    return existing


def test_a_neighbour_reads_and_signals_no_process_of_a_session(found: dict[str, Any]) -> None:
    assert found["processes"] == []


def test_a_neighbour_opens_no_private_file_of_a_session(found: dict[str, Any]) -> None:
    assert found["paths"] == []


def test_a_neighbour_who_asks_the_server_past_the_proxy_is_led_to_the_login(
    found: dict[str, Any],
) -> None:
    assert found["answers"] == []


def test_the_sockets_of_a_session_are_in_folders_of_its_user(
    session: Session, kernel_pids: list[int]
) -> None:
    table = Path(f"/proc/{session.pid}/net/unix").read_text().splitlines()[1:]
    named = {line.split(maxsplit=7)[7] for line in table if len(line.split(maxsplit=7)) == 8}
    uid = pwd.getpwnam(VICTIM).pw_uid
    sockets = [Path(f"/proc/{session.pid}/root{name}") for name in named if name.startswith("/")]
    own = [path for path in sockets if path.exists() and path.stat().st_uid == uid]

    assert own, "a kernel has sockets"
    for path in own:
        folder = path.parent.stat()
        assert folder.st_uid == uid
        assert path.stat().st_mode & 0o077 == 0 or folder.st_mode & 0o077 == 0, path
