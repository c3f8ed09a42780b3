"""Runs inside new namespaces, before the daemon: sets up their name, files and devices.

namespace.py [--hostname NAME] [--bind FROM TO]... [--node simulated:N|real] -- PROGRAM...

Without --node the program replaces this process. With --node this process is process 1 of a compute
node: it makes the node's own /proc, /tmp, /run and /dev, starts the program and then reaps ended
processes. When process 1 ends the kernel kills everything on the node, as in a power failure.
"""

import argparse
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from typing import NoReturn

# Source: Documentation/admin-guide/devices.txt of Linux: memory devices, tty, NVIDIA's 195.
CHARACTER_DEVICES = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "tty": (5, 0),
}
NVIDIA_MAJOR = 195
LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}


def mount(*arguments: str) -> None:
    """Run the program mount with these arguments."""
    subprocess.run(["mount", *arguments], check=True)


def make_device(name: str, numbers: tuple[int, int], stand_in: str) -> None:
    """Create a character device, or bind-mount one of the machine's in its place.

    Args:
        name: Its name in /dev.
        numbers: Major and minor number.
        stand_in: Device to show if this process may create none, as root in most containers.
    """
    path = f"/dev/{name}"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(*numbers))
    except PermissionError:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        mount("--no-canonicalize", "--bind", stand_in, path)
    else:
        # The umask has taken bits from the mode that mknod was given.
        os.chmod(path, 0o666)  # noqa: S103 (what everybody writes to, as on any machine)


def make_simulated_devices(n_gpus: int) -> None:
    """Make a /dev that holds what programs need, and GPU devices without a driver."""
    # Keeps the machine's devices in reach for the stand-ins once the tmpfs hides them.
    machine_dev = os.open("/dev", os.O_PATH)
    mount("-t", "tmpfs", "-o", "mode=755,nosuid,size=64k", "tmpfs", "/dev")
    gpus = {f"nvidia{minor}": (NVIDIA_MAJOR, minor) for minor in range(n_gpus)}
    for name, numbers in {**CHARACTER_DEVICES, **gpus}.items():
        stand_in = name if name in CHARACTER_DEVICES else "null"
        make_device(name, numbers, f"/proc/{os.getpid()}/fd/{machine_dev}/{stand_in}")
    os.close(machine_dev)
    for name, target in LINKS.items():
        os.symlink(target, f"/dev/{name}")
    os.makedirs("/dev/pts")
    os.makedirs("/dev/shm")


def make_node(gpus: str, binds: list[tuple[str, str]]) -> None:
    """Give the node its own view of the machine.

    Args:
        gpus: "simulated:N", or "real" if the node has the devices of this machine.
        binds: Pairs of a folder or file and the place where the node sees it.
    """
    # Opened first, because the mounts below hide these paths.
    kept = [(os.open(source, os.O_PATH), target) for source, target in binds]
    mount("-t", "proc", "-o", "nosuid,nodev,noexec", "proc", "/proc")
    mount("-t", "tmpfs", "-o", "mode=1777,nosuid,nodev", "tmpfs", "/tmp")
    mount("-t", "tmpfs", "-o", "mode=755,nosuid,nodev", "tmpfs", "/run")
    os.makedirs("/run/lock", exist_ok=True)
    kind, _, count = gpus.partition(":")
    if kind == "simulated":
        make_simulated_devices(int(count))
    # 5 is the id of Debian's group tty.
    mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=620,gid=5", "devpts", "/dev/pts")
    mount("-t", "tmpfs", "-o", "mode=1777,nosuid,nodev", "tmpfs", "/dev/shm")
    for file, target in kept:
        # The path leads through this process to what /run and /dev held before.
        if not os.path.exists(target):
            make_place(target, is_folder=stat.S_ISDIR(os.fstat(file).st_mode))
        mount("--no-canonicalize", "--bind", f"/proc/{os.getpid()}/fd/{file}", target)
        os.close(file)


def make_place(target: str, *, is_folder: bool) -> None:
    """Make what something can be mounted on."""
    if is_folder:
        os.makedirs(target)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def bury_the_dead() -> NoReturn:
    """Reap every process of the node that ends, for ever."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            # No child left. A slurmd that deploy/up starts again is none, but what it leaves behind
            # becomes one.
            time.sleep(1)


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hostname")
    parser.add_argument("--bind", nargs=2, action="append", default=[])
    parser.add_argument("--node")
    parser.add_argument("program", nargs="+")
    return parser.parse_args(argv)


def main(argv: list[str]) -> NoReturn:
    """Set up the namespaces, then run the program."""
    wanted = parse_arguments(argv)
    if wanted.hostname:
        socket.sethostname(wanted.hostname)
    if not wanted.node:
        for source, target in wanted.bind:
            mount("--bind", source, target)
        # In place of this process, which supervisor knows.
        os.execvp(wanted.program[0], wanted.program)  # noqa: S606 (deploy/up's own words)
    make_node(wanted.node, wanted.bind)
    # Process 1 gets no signal that it does not ask for.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    subprocess.Popen(wanted.program, stdin=subprocess.DEVNULL, start_new_session=True)
    bury_the_dead()


if __name__ == "__main__":
    main(sys.argv[1:])
