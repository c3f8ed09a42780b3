"""Process 1 of a Linux in user mode: an NFS server and its clients, which a machine borrows.

guest.py TREE N_CLIENTS, as init. The clients have a network of their own, and the cable to the
server can be made slow or be cut. Each client is a mount of the kernel with a cache of its own, as
on N_CLIENTS machines. Who connects to port `FILES` has operations on files done on one of the
mounts; who connects to port `ORDERS` has programs run.
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

TREE = Path(sys.argv[1])
N_CLIENTS = int(sys.argv[2])
sys.path[:0] = [str(Path(__file__).parents[3]), f"{TREE}/usr/lib/python3/dist-packages"]
os.environ["FUSE_LIBRARY_PATH"] = f"{TREE}/lib/x86_64-linux-gnu/libfuse.so.2"

from tests.lab.foreign.shares import Share, set_identity  # noqa: E402
from tests.lab.nfs.guest_layout import (  # noqa: E402
    ADDRESS,
    EXPORT,
    FILES,
    N_THREADS,
    NFSD,
    ORDERS,
)

SERVER_ADDRESS, CLIENT_ADDRESS = "10.89.78.2", "10.89.78.1"
CABLE = "server"
CLIENTS = Path("/run/clients")
MODULES = ("veth", "sch_netem", "quota_v2", "nfsd", "nfsv4")
FINIT_MODULE = 313
POWER_OFF = 0x4321FEDC
PERIODS_S = {"nfsv4leasetime": 10, "nfsv4gracetime": 10}
# As docs/offer/storage.md advises, with a shorter timeout so that tests need not wait as long.
OPTIONS = "vers=4.2,hard,timeo=50,retrans=2,nosharecache,sec=sys"
libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Start everything, and answer until the machine ends this kernel."""
    set_environment()
    for kind, place in (
        *(("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("tmpfs", "/tmp")),
        *(("tmpfs", "/var/lib"), ("tmpfs", "/mnt")),
    ):
        run("mount", "-i", "-t", kind, kind, place)
    make_settings()
    known: set[str] = set()
    for name in MODULES:
        insert_module(name, known)
    start_network()
    start_server()
    for number in range(N_CLIENTS):
        mount_client(CLIENTS / str(number))
    # A process of its own: a program that is started here closes files that it was not given, which
    # waits for a server that hangs, be the program the one that starts it again.
    if os.fork() == 0:
        listen(FILES, serve_files)
    listen(ORDERS, serve_orders)


def set_environment() -> None:
    """Let programs of the unpacked packages find each other."""
    places = (f"{TREE}/sbin", f"{TREE}/usr/sbin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
    libraries = (f"{TREE}/lib/x86_64-linux-gnu", f"{TREE}/usr/lib/x86_64-linux-gnu")
    os.environ |= {"PATH": ":".join(places), "LD_LIBRARY_PATH": ":".join(libraries)}


def make_settings() -> None:
    """Take the machine's settings, and say what is exported."""
    settings = Path("/run/etc")
    settings.mkdir()
    for path in (path for path in Path("/etc").iterdir() if path.is_file()):
        shutil.copyfile(path, settings / path.name)
    options = "rw,sync,root_squash,no_subtree_check,fsid=0"
    (settings / "exports").write_text(f"{EXPORT} {CLIENT_ADDRESS}({options})\n")
    run("mount", "-i", "--bind", str(settings), "/etc")


def insert_module(name: str, known: set[str]) -> None:
    """Load a module of the kernel after those that it leans on; each once."""
    if name in known:
        return
    known.add(name)
    for path in (TREE / "usr/lib/uml/modules").rglob(f"{name.replace('_', '[-_]')}.ko"):
        needs = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        for need in needs[1].decode().split(",") if needs else ():
            insert_module(need, known)
        with path.open("rb") as file:
            if libc.syscall(FINIT_MODULE, file.fileno(), b"", 0) != 0:
                raise OSError(ctypes.get_errno(), f"{path} could not be loaded")


def start_network() -> None:
    """Connect this kernel to the machine around it, and the server to its clients."""
    for words in (
        "link set lo up",
        f"address add {ADDRESS}/30 dev vec0",
        "link set vec0 up",
        "netns add clients",
        f"link add {CABLE} type veth peer name eth0 netns clients",
        f"address add {SERVER_ADDRESS}/30 dev {CABLE}",
        f"link set {CABLE} up",
        f"-n clients address add {CLIENT_ADDRESS}/30 dev eth0",
        "-n clients link set eth0 up",
        "-n clients link set lo up",
    ):
        run("ip", *words.split())


def start_server() -> None:
    """Start the kernel's NFS server, with root squashed and quotas of users."""
    EXPORT.mkdir()
    run("mount", "-i", "-t", "ext4", "-o", "usrquota", "/dev/ubda", str(EXPORT))
    Path("/var/lib/nfs/v4recovery").mkdir(parents=True)
    for name in ("etab", "rmtab"):
        Path("/var/lib/nfs", name).touch()
    run("mount", "-i", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    for name, seconds in PERIODS_S.items():
        Path("/proc/fs/nfsd", name).write_text(str(seconds))
    run("exportfs", "-a")
    run("rpc.mountd", "--no-nfs-version", "3")
    run(*NFSD, N_THREADS)


def mount_client(place: Path) -> None:
    """Mount the export once more, as another machine would."""
    place.mkdir(parents=True)
    options = f"{OPTIONS},addr={SERVER_ADDRESS},clientaddr={CLIENT_ADDRESS}"
    mount = ("mount", "-i", "-t", "nfs4", "-o", options, f"{SERVER_ADDRESS}:/", str(place))
    run("nsenter", "--net=/run/netns/clients", *mount)


def listen(address: tuple[str, int], serve: Callable[[Connection], None]) -> None:
    """Serve whoever connects, each in a thread of its own."""
    with Listener(address, backlog=100) as listener:
        while True:
            threading.Thread(target=serve, args=(listener.accept(),), daemon=True).start()


def serve_files(connection: Connection) -> None:
    """Do operations with the rights of who asks, one after the other."""
    shares = [Share(str(CLIENTS / str(number))) for number in range(N_CLIENTS)]
    while True:
        try:
            number, identity, operation, path, arguments = connection.recv()
        except EOFError:
            return
        connection.send(answer(shares[number], identity, operation, path, arguments))


def answer(
    share: Share, identity: tuple[int, int, tuple[int, ...]], operation: str, path: str, more: Any
) -> tuple[int, Any]:
    """Return the number of the error, 0 for none, and the result."""
    set_identity(*identity)
    try:
        return 0, getattr(share, operation)(share.exported + (path or ""), *more)
    except OSError as error:
        return error.errno or 5, None
    finally:
        set_identity(0, 0, ())


def serve_orders(connection: Connection) -> None:
    """Run programs, one after the other; tell their status and what they say."""
    while True:
        try:
            argv = connection.recv()
        except EOFError:
            return
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        connection.send((done.returncode, done.stdout + done.stderr))


def run(*argv: str) -> None:
    """Run a program to its end."""
    subprocess.run(argv, check=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        # Without its process 1 the kernel would only panic.
        libc.reboot(POWER_OFF)
