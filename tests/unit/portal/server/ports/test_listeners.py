"""The kernel's table of sockets, and what is a session's own in it."""

import os
from pathlib import Path

import pytest

from portal.server.ports.listeners import ForeignPortError, SessionPorts, SilentPortError

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid"
LINE = (
    "   0: {here} {there} {state} 00000000:00000000 00:00000000 00000000 {uid} "
    "       0 {inode} 1 0000000000000000 100 0 0 10 0"
)
PORT = 8050
NOWHERE = "00000000:0000"


def line(here: str, there: str = NOWHERE, state: str = "0A", uid: int = 0, inode: int = 7) -> str:
    uid = uid or os.geteuid()
    return LINE.format(here=here, there=there, state=state, uid=uid, inode=inode)


class Proc:
    """A folder such as /proc."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pids: list[int] = []
        (folder / "self/net").mkdir(parents=True)
        self.listen()

    def add(self, pid: int, *, inode: int, is_of_session: bool = True) -> None:
        (self.folder / str(pid) / "fd").mkdir(parents=True)
        (self.folder / str(pid) / "fd/3").symlink_to(f"socket:[{inode}]")
        self.pids += [pid] if is_of_session else []

    def listen(self, *lines: str) -> None:
        (self.folder / "self/net/tcp").write_text("\n".join([HEADER, *lines]))

    def listen_on_ipv6(self, *lines: str) -> None:
        (self.folder / "self/net/tcp6").write_text("\n".join([HEADER, *lines]))

    def ports(self) -> SessionPorts:
        return SessionPorts(lambda: self.pids, self.folder)


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


@pytest.mark.parametrize("address", ["0100007F:1F72", "00000000:1F72"])
def test_a_port_of_the_sessions_program_is_of_the_session(proc: Proc, address: str) -> None:
    proc.add(50, inode=7)
    proc.listen(line(address))

    assert len(proc.ports().listeners(PORT)) == 1


def test_a_port_of_another_session_of_the_user_is_refused(proc: Proc) -> None:
    proc.add(50, inode=7, is_of_session=False)
    proc.listen(line("0100007F:1F72"))

    with pytest.raises(ForeignPortError, match="was not started in this session"):
        proc.ports().listeners(PORT)


@pytest.mark.parametrize(
    "address", ["0" * 32, "0" * 16 + "FFFF0000" + "0" * 8, "0" * 16 + "FFFF0000" + "0100007F"]
)
@pytest.mark.parametrize("inode", [7, 8])
def test_a_socket_of_ipv6_may_take_the_connection(proc: Proc, address: str, inode: int) -> None:
    proc.add(50, inode=7)
    proc.listen_on_ipv6(line(f"{address}:1F72", inode=inode))

    if inode == 7:
        assert proc.ports().listeners(PORT)
    else:
        with pytest.raises(ForeignPortError):
            proc.ports().listeners(PORT)


@pytest.mark.parametrize(
    "others",
    [
        [line("00000000:1F72", uid=54321, inode=8)],
        [line("0100007F:1F72", inode=8)],
        [line("0100007F:1F72", inode=7, uid=54321)],
    ],
    ids=["somebody else, too", "held by no process of the session", "another uid"],
)
def test_all_that_listen_there_must_be_of_the_session(proc: Proc, others: list[str]) -> None:
    proc.add(50, inode=7)
    proc.listen(line("0100007F:1F72"), *others)

    with pytest.raises(ForeignPortError):
        proc.ports().listeners(PORT)


@pytest.mark.parametrize(
    "lines",
    [[], [line("0100007F:1F73")], [line("0100000A:1F72")], [line("0100007F:1F72", state="01")]],
    ids=["nothing", "another port", "another address", "a connection"],
)
def test_a_port_where_nothing_listens_is_silent(proc: Proc, lines: list[str]) -> None:
    proc.listen(*lines)

    with pytest.raises(SilentPortError, match="Nothing listens on port 8050"):
        proc.ports().listeners(PORT)


@pytest.mark.parametrize(
    ("peer", "is_own"),
    [
        (line("0100007F:1F72", "0100007F:9C40", "01", inode=9), True),
        (
            LINE.format(here="0100007F:1F72", there="0100007F:9C40", state="01", uid=0, inode=0),
            True,
        ),
        (line("0100007F:1F72", "0100007F:9C40", "01", uid=54321, inode=9), False),
        ("", False),
    ],
    ids=["accepted", "waits to be accepted", "taken by somebody else", "gone"],
)
def test_a_connection_is_the_users_own_or_refused(proc: Proc, peer: str, is_own: bool) -> None:
    proc.add(50, inode=7)
    proc.listen(line("0100007F:1F72"))
    ports = proc.ports()
    before = ports.listeners(PORT)
    proc.listen(line("0100007F:1F72"), *([peer] if peer else []))

    if is_own:
        ports.check_connection(PORT, 40000, before)
    else:
        with pytest.raises(ForeignPortError):
            ports.check_connection(PORT, 40000, before)


def test_another_listener_since_then_is_refused(proc: Proc) -> None:
    proc.add(50, inode=7)
    proc.add(51, inode=8)
    proc.listen(line("0100007F:1F72"))
    ports = proc.ports()
    before = ports.listeners(PORT)
    proc.listen(line("0100007F:1F72", inode=8), line("0100007F:1F72", "0100007F:9C40", "01"))

    with pytest.raises(ForeignPortError, match="changed in this moment"):
        ports.check_connection(PORT, 40000, before)
