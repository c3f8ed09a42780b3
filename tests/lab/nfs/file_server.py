"""A real NFS server and real NFS clients, also where the machine's kernel has neither.

A Linux in user mode (Debian's `user-mode-linux`) runs the kernel's own server, over a disk with
quotas, and mounts it with the kernel's own client. What it mounts is shown here over FUSE.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Client
from pathlib import Path

from tests.lab.nfs.guest_layout import EXPORT, N_THREADS, NFSD, ORDERS, OUTER_ADDRESS
from tests.support.eventually import eventually
from tests.support.mounts import node_places

HERE = Path(__file__).parent
TREE = Path("/var/cache/data-scientist-portal/nfs")
PACKAGES = (
    *("user-mode-linux", "nfs-kernel-server", "nfs-common", "libnfsidmap1", "quota"),
    *("libevent-core-2.1-7", "libwrap0", "keyutils", "python3-fusepy", "libfuse2"),
)
DISK_BYTES = 2 * 1024**3
MEMORY_MIB = 512
MAKE_FUSE = ("mknod", "-m", "600", "/dev/fuse", "c", "10", "229")
TAP = "dsp-nfs"
ORDER_TIMEOUT_S = 60
START_TIMEOUT_S = 60


def missing() -> str:
    """Return what keeps this machine from it; empty where all is there."""
    devices = [path for path in ("/dev/fuse", "/dev/net/tun") if not Path(path).exists()]
    return f"NFS over FUSE needs {' and '.join(devices)}" if devices else ""


def ensure_packages() -> None:
    """Unpack Debian's packages beside the system; nothing of them is installed."""
    if (TREE / "complete").exists():
        return
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    _run("apt-get", "-q", "download", *PACKAGES, cwd=TREE)
    for path in TREE.glob("*.deb"):
        _run("dpkg", "-x", str(path), str(TREE))
        path.unlink()
    (TREE / "complete").touch()


@dataclass
class FileServer:
    """A running server.

    Attributes:
        mounts: Where it is shown: what enters a machine, the mount point, the process.
    """

    folder: Path
    mounts: list[tuple[list[str], Path, subprocess.Popen[bytes]]] = field(default_factory=list)

    def order(self, *argv: str) -> str:
        """Run a program in the guest."""
        with Client(ORDERS) as connection:
            connection.send(argv)
            if not connection.poll(ORDER_TIMEOUT_S):
                raise RuntimeError(f"{' '.join(argv)}: no end within {ORDER_TIMEOUT_S} s")
            status, said = connection.recv()
        if status:
            raise RuntimeError(f"{' '.join(argv)}: {said}")
        return str(said)

    @contextlib.contextmanager
    def delayed(self, delay_ms: int) -> Iterator[None]:
        """Let each answer come later."""
        with self._cable("delay", f"{delay_ms}ms"):
            yield

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Let no answer come."""
        with self._cable("loss", "100%"):
            yield

    @contextlib.contextmanager
    def _cable(self, *state: str) -> Iterator[None]:
        place = ("tc", "qdisc", "replace", "dev", "server", "root")
        self.order(*place, "netem", *state)
        try:
            yield
        finally:
            self.order(*place, "pfifo")

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """End the server and start it again; what clients have open is for them to bring back."""
        self.order(*NFSD, "0")
        try:
            yield
        finally:
            self.order(*NFSD, N_THREADS)

    def limit(self, user_id: int, most_mib: int) -> None:
        """Let a user have no more than this on the server; 0 for no limit."""
        blocks = str(most_mib * 1024)
        self.order("setquota", "-u", str(user_id), blocks, blocks, "0", "0", str(EXPORT))

    def make_folder(self, name: str, *, user_id: int, group_id: int, mode: int) -> None:
        """Make a folder on the server."""
        self.order("install", "-d", "-m", f"{mode:o}", f"{EXPORT}/{name}")
        self.order("chown", f"{user_id}:{group_id}", f"{EXPORT}/{name}")

    def show(self, name: str, mount_point: Path) -> None:
        """Mount a folder of the server on the head and on each node."""
        for number, place in enumerate([[], *node_places()]):
            if place:
                # A node has the devices of its GPUs and few others.
                subprocess.run([*place, *MAKE_FUSE], check=False, capture_output=True, timeout=10)
            program = ["/usr/bin/python3", "-I", str(HERE / "mount.py"), str(TREE)]
            log = (self.folder / f"mount-{number}{mount_point}.log".replace("/", "-")).open("wb")
            process = subprocess.Popen(
                [*place, *program, str(number), f"/{name}", str(mount_point)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            log.close()
            self.mounts.append((place, mount_point, process))
            eventually(
                lambda: _is_shown(place, mount_point) or process.poll() is not None,  # noqa: B023
                START_TIMEOUT_S,
            )
            assert process.poll() is None, Path(log.name).read_text()


@contextlib.contextmanager
def running_server(folder: Path, n_clients: int) -> Iterator[FileServer]:
    """Run the server with a mount for each machine."""
    ensure_packages()
    disk = folder / "disk"
    with disk.open("wb") as file:
        file.truncate(DISK_BYTES)
    _run("mkfs.ext4", "-q", "-F", "-O", "quota", "-E", "lazy_itable_init=1", str(disk))
    _run("ip", "tuntap", "add", "dev", TAP, "mode", "tap")
    server = FileServer(folder)
    log = (folder / "guest.log").open("wb")
    try:
        _run("ip", "address", "add", f"{OUTER_ADDRESS}/30", "dev", TAP)
        _run("ip", "link", "set", TAP, "up")
        guest = subprocess.Popen(
            _words(disk, n_clients),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": "/dev/shm"},
            start_new_session=True,
        )
        try:
            eventually(lambda: _answers(server) or guest.poll() is not None, START_TIMEOUT_S)
            assert guest.poll() is None, (folder / "guest.log").read_text()[-4000:]
            yield server
        finally:
            _end(server, guest)
    finally:
        log.close()
        _run("ip", "link", "delete", TAP)


def _words(disk: Path, n_clients: int) -> list[str]:
    # With its namespace of processes all that belongs to the guest ends, too.
    alone = ("unshare", "--pid", "--fork", "--kill-child")
    kernel = (f"{TREE}/usr/bin/linux.uml", f"mem={MEMORY_MIB}M", f"ubd0={disk}")
    root = (
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "con=null",
        "con0=null,fd:1",
    )
    network = f"vec0:transport=tap,ifname={TAP},depth=128,gro=1"
    init = ("init=/usr/bin/python3", "--", "-I", "-B", str(HERE / "guest.py"), str(TREE))
    return [*alone, *kernel, *root, network, *init, str(n_clients)]


def _end(server: FileServer, guest: subprocess.Popen[bytes]) -> None:
    for place, mount_point, _ in server.mounts:
        subprocess.run([*place, "umount", "-l", str(mount_point)], check=False, timeout=30)
        if place:
            subprocess.run([*place, "rm", "-f", "/dev/fuse"], check=False, timeout=30)
    guest.kill()
    guest.wait(30)
    for _, _, process in server.mounts:
        process.kill()
        process.wait(30)


def _answers(server: FileServer) -> bool:
    try:
        return server.order("true") == ""
    except OSError:
        return False


def _is_shown(place: list[str], mount_point: Path) -> bool:
    seen = subprocess.run([*place, "cat", "/proc/self/mounts"], capture_output=True, text=True)
    return f" {mount_point} fuse " in seen.stdout


def _run(*argv: str, cwd: Path | None = None) -> None:
    subprocess.run(argv, check=True, capture_output=True, timeout=600, cwd=cwd)
