"""How many connections there may be, and which of them count as use."""

import asyncio
import logging
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from portal.server.ssh import connections as module
from portal.server.ssh.connections import ACTIVE_BYTES, ACTIVE_WINDOW_S, SshConnections, Traffic
from portal.server.ssh.sshd import SshError, SshLimitError
from portal.settings.ssh import SshSettings

KEY = "ssh-ed25519 " + "A" * 68
# In place of sshd: it says back what it hears, until nobody speaks.
ECHO = "import os\nwhile data := os.read(0, 99): os.write(1, data)"


def make(limit: int = 1) -> SshConnections:
    settings = SshSettings(limit=limit, forwards_ports=True)
    return SshConnections(settings, {"HOME": "/h"}, logging.getLogger("test"))


def files_in(folder: Path) -> dict[str, Path]:
    return {path.name: path for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def memory() -> Iterator[Path]:
    # The path of a folder for sockets has to be short.
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        yield Path(name)


@pytest.fixture
async def echoing(monkeypatch: pytest.MonkeyPatch, memory: Path) -> AsyncIterator[SshConnections]:
    start = module._start_sshd

    async def start_echo(argv: list[str]) -> object:
        assert argv[1:4] == ["-i", "-e", "-f"]
        return await start([sys.executable, "-c", ECHO])

    monkeypatch.setattr(module, "_start_sshd", start_echo)
    monkeypatch.setattr(module, "find_sshd", lambda: "/usr/sbin/sshd")
    monkeypatch.setattr(module, "_MEMORY", {"TMPDIR": str(memory)})
    made = make()
    yield made
    await made.stop()


async def test_bytes_pass_both_ways(echoing: SshConnections) -> None:
    connection = await echoing.open(KEY, None)

    assert await connection.write(b"hello") is False
    assert await connection.read() == b"hello"


async def test_one_too_many_is_refused_with_the_limit(echoing: SshConnections) -> None:
    first = await echoing.open(KEY, None)

    with pytest.raises(SshLimitError, match="already has 1 connection over ssh, the most"):
        await echoing.open(KEY, None)

    await echoing.close(first)
    await echoing.open(KEY, None)


async def test_many_at_once_do_not_pass_the_limit(echoing: SshConnections) -> None:
    opened = await asyncio.gather(
        *(echoing.open(KEY, None) for _ in range(3)), return_exceptions=True
    )

    assert [isinstance(one, SshLimitError) for one in opened].count(False) == 1


async def test_nothing_is_left_of_a_connection_and_of_all(
    echoing: SshConnections, memory: Path
) -> None:
    connection = await echoing.open(KEY, 7.0)
    files = files_in(memory)
    assert set(files) == {"host_key", "authorized_keys", "sshd_config", "login.json"}
    assert {path.stat().st_mode & 0o077 for path in files.values()} == {0}
    assert echoing.host_key.startswith("ssh-ed25519 ")

    await echoing.close(connection)
    assert set(files_in(memory)) == {"host_key"}

    await echoing.stop()
    assert not files_in(memory)


async def test_the_end_of_the_session_ends_its_connections(echoing: SshConnections) -> None:
    connection = await echoing.open(KEY, None)

    await echoing.stop()

    assert await connection.read() == b""
    with pytest.raises(SshError, match="switched"):
        await echoing.open(KEY, None)


async def test_a_site_switches_ssh_off() -> None:
    with pytest.raises(SshError, match="administrators have switched"):
        await make(limit=0).open(KEY, None)


async def test_an_sshd_that_does_not_start_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, memory: Path
) -> None:
    monkeypatch.setattr(module, "find_sshd", lambda: str(memory / "missing"))
    monkeypatch.setattr(module, "_MEMORY", {"TMPDIR": str(memory)})
    made = make()

    with pytest.raises(SshError, match="cannot be started"):
        await made.open(KEY, None)

    assert set(files_in(memory)) == {"host_key"}
    assert len(made) == 0
    await made.stop()


def test_work_counts_as_use_and_signs_of_life_do_not() -> None:
    traffic = Traffic()

    assert not any(traffic.note(100, now_s) for now_s in range(0, 3600, 5))
    assert traffic.note(ACTIVE_BYTES, 3700.0)
    assert not traffic.note(1, 3700.0 + ACTIVE_WINDOW_S)
