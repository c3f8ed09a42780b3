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
        (folder / "self/net").mkdir(parents=True)
        self.add(os.getpid(), parent=1)
        self.listen()

    def add(
        self, pid: int, *, parent: int, job: str = "", cgroup: str = "0::/", inode: int = 0
    ) -> None:
        process = self.folder / str(pid)
        (process / "fd").mkdir(parents=True)
        (process / "stat").write_text(f"{pid} (a) b) S {parent} 1 1")
        (process / "environ").write_text(f"A=b\0SLURM_JOB_ID={job}\0" if job else "A=b\0")
        (process / "cgroup").write_text(cgroup)
        if inode:
            (process / "fd/3").symlink_to(f"socket:[{inode}]")

    def listen(self, *lines: str) -> None:
        (self.folder / "self/net/tcp").write_text("\n".join([HEADER, *lines]))

    def listen_on_ipv6(self, *lines: str) -> None:
        (self.folder / "self/net/tcp6").write_text("\n".join([HEADER, *lines]))

    def ports(self, job: str = "") -> SessionPorts:
        return SessionPorts({"SLURM_JOB_ID": job} if job else {}, self.folder)


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


@pytest.mark.parametrize("address", ["0100007F:1F72", "00000000:1F72"])
def test_a_child_of_the_server_is_of_the_session(proc: Proc, address: str) -> None:
    proc.add(50, parent=os.getpid())
    proc.add(51, parent=50, inode=7)
    proc.listen(line(address))

    assert len(proc.ports().listeners(PORT)) == 1


@pytest.mark.parametrize(
    "address", ["0" * 32, "0" * 16 + "FFFF0000" + "0" * 8, "0" * 16 + "FFFF0000" + "0100007F"]
)
@pytest.mark.parametrize("inode", [7, 8])
def test_a_socket_of_ipv6_may_take_the_connection(proc: Proc, address: str, inode: int) -> None:
    proc.add(50, parent=os.getpid(), inode=7)
    proc.listen_on_ipv6(line(f"{address}:1F72", inode=inode))

    if inode == 7:
        assert proc.ports().listeners(PORT)
    else:
        with pytest.raises(ForeignPortError):
            proc.ports().listeners(PORT)


@pytest.mark.parametrize(
    ("own", "other", "is_own"),
    [
        ("0::/system.slice/slurmstepd.scope/job_7/step_batch/user/task_0", "/x/job_7/step_0", True),
        ("9:memory:/slurm/uid_1/job_7/step_batch\n0::/", "8:cpu:/slurm/uid_1/job_7", True),
        ("0::/slurmstepd.scope/job_7/step_batch", "0::/slurmstepd.scope/job_77/step_batch", False),
        ("0::/slurmstepd.scope/job_7/step_batch", "0::/user.slice", False),
    ],
)
def test_where_slurm_has_control_groups_they_decide(
    proc: Proc, own: str, other: str, is_own: bool
) -> None:
    (proc.folder / str(os.getpid()) / "cgroup").write_text(own)
    # The variable may be anything that the user sets.
    proc.add(50, parent=1, job="7", cgroup=other, inode=7)
    proc.listen(line("0100007F:1F72"))

    if is_own:
        assert proc.ports(job="7").listeners(PORT)
    else:
        with pytest.raises(ForeignPortError):
            proc.ports(job="7").listeners(PORT)


@pytest.mark.parametrize(("job", "is_own"), [("7", True), ("77", False), ("", False)])
def test_without_them_the_jobs_variable_decides(proc: Proc, job: str, is_own: bool) -> None:
    proc.add(50, parent=1, job=job, inode=7)
    proc.listen(line("0100007F:1F72"))

    if is_own:
        assert proc.ports(job="7").listeners(PORT)
    else:
        with pytest.raises(ForeignPortError, match="was not started in this session"):
            proc.ports(job="7").listeners(PORT)


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
    proc.add(50, parent=os.getpid(), inode=7)
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
    proc.add(50, parent=os.getpid(), inode=7)
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
    proc.add(50, parent=os.getpid(), inode=7)
    proc.add(51, parent=os.getpid(), inode=8)
    proc.listen(line("0100007F:1F72"))
    ports = proc.ports()
    before = ports.listeners(PORT)
    proc.listen(line("0100007F:1F72", inode=8), line("0100007F:1F72", "0100007F:9C40", "01"))

    with pytest.raises(ForeignPortError, match="changed in this moment"):
        ports.check_connection(PORT, 40000, before)
