"""Process 1 of the foreign machine: init.py FOLDER DISK CHECKOUT [FILES], run in new namespaces.

It lays a layer in memory over this machine's files, hides what deploy/up keeps there, and makes
that the root; or FILES, the root of another system. When it is killed, the kernel takes all away:
processes, mounts, network, and the files in memory.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

# What the demo, or an installation of this machine's own, has made.
HIDDEN = (
    "etc/data-scientist-portal",
    "etc/logrotate.d/data-scientist-portal",
    "etc/slurm",
    "etc/sudoers.d/data-scientist-portal",
    "home",
    "opt/apptainer",
    "opt/data-scientist-portal",
    "srv/isilon",
    "usr/local/bin/dsportal",
    # The kernel of R, which a cluster need not have.
    "usr/share/jupyter/kernels/ir",
    "var/lib/data-scientist-portal",
    "var/log/data-scientist-portal",
)
PORTAL_ACCOUNT = "dsportal"
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
ACCOUNT_FILES = ("passwd", "shadow", "group", "gshadow")
# What this machine has built: where it is, and where seed.py finds it, read only.
BUILT = (("/opt/data-scientist-portal", "built/portal"), ("/srv/isilon", "built/storage"))
# Gigabytes, with frameworks: on the disk, as the rest of the layer is in memory.
ON_DISK = ("cluster/software", "root/.cache")
LAYER_SIZE = "6g"


def main(folder: Path, disk: Path, checkout: Path, files: Path | None = None) -> None:
    """Become the foreign machine.

    Args:
        folder: An empty folder, used as long as this process lives.
        checkout: The sources, visible in the machine at the same place.
        files: Root of another system; None for a layer over this machine's.
    """
    new_root = show_root(folder, files) if files else make_root(folder)
    mount_parts(new_root, checkout)
    if files is None:
        mount_large_parts(new_root, disk)
    os.chdir(new_root)
    mount_point = Path("old-root")
    mount_point.mkdir(exist_ok=True)
    run("pivot_root", ".", str(mount_point))
    os.chdir("/")
    run("umount", "--lazy", f"/{mount_point}")
    Path("/home").mkdir(exist_ok=True)
    print("ready", flush=True)
    bury_the_dead()


def make_root(folder: Path) -> Path:
    """Lay the layer over the machine's files."""
    run("mount", "-t", "tmpfs", "-o", f"mode=755,size={LAYER_SIZE}", "tmpfs", str(folder))
    layer, work, new_root = (folder / name for name in ("layer", "work", "root"))
    for path in (layer, work, new_root):
        path.mkdir()
    for name in HIDDEN:
        hide(layer, Path(name))
    options = f"lowerdir=/,upperdir={layer},workdir={work}"
    run("mount", "-t", "overlay", "-o", options, "overlay", str(new_root))
    for name in ACCOUNT_FILES:
        forget_account(new_root / "etc" / name)
    return new_root


def show_root(folder: Path, files: Path) -> Path:
    """Show the files of another system, which trusts the authorities that this one does."""
    run("mount", "--bind", str(files), str(folder))
    if AUTHORITIES.exists() and (folder / AUTHORITIES.relative_to("/")).exists():
        shutil.copyfile(AUTHORITIES, folder / AUTHORITIES.relative_to("/"))
    return folder


def hide(layer: Path, path: Path) -> None:
    """Put a whiteout of overlayfs over a path of the machine below."""
    for parent in reversed(path.parents[:-1]):
        if not (layer / parent).is_dir():
            below = (Path("/") / parent).stat()
            (layer / parent).mkdir()
            os.chown(layer / parent, below.st_uid, below.st_gid)
            (layer / parent).chmod(stat.S_IMODE(below.st_mode))
    os.mknod(layer / path, stat.S_IFCHR, os.makedev(0, 0))


def forget_account(path: Path) -> None:
    """Take the portal's account out of a file of accounts."""
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(li for li in lines if not li.startswith(f"{PORTAL_ACCOUNT}:")))


def mount_parts(new_root: Path, checkout: Path) -> None:
    """Mount what a layer over files does not show."""
    for name in ("resolv.conf", "hosts"):
        # In a container these are mounts.
        text = Path("/etc", name).read_text() if Path("/etc", name).exists() else ""
        (new_root / "etc" / name).unlink(missing_ok=True)
        (new_root / "etc" / name).write_text(text)
    run("mount", "-t", "proc", "proc", str(new_root / "proc"))
    run("mount", "-t", "sysfs", "sysfs", str(new_root / "sys"))
    run("mount", "--rbind", "/dev", str(new_root / "dev"))
    run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(new_root / "dev/shm"))
    for name, mode in (("tmp", "1777"), ("run", "755")):
        run("mount", "-t", "tmpfs", "-o", f"mode={mode}", "tmpfs", str(new_root / name))
    (new_root / "run/lock").mkdir()
    sources = new_root / checkout.relative_to("/")
    sources.mkdir(parents=True, exist_ok=True)
    run("mount", "--bind", str(checkout), str(sources))
    # In a copy of a checkout this is a link to where the results of a run go.
    output = (checkout / "tests/output").resolve()
    if output.is_dir() and not output.is_relative_to(checkout):
        (new_root / output.relative_to("/")).mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", str(output), str(new_root / output.relative_to("/")))
    run("ip", "link", "set", "lo", "up")


def mount_large_parts(new_root: Path, disk: Path) -> None:
    """Mount what would fill the layer."""
    for number, name in enumerate(ON_DISK):
        source = disk / str(number)
        source.mkdir()
        (new_root / name).mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", str(source), str(new_root / name))
    for built, name in BUILT:
        if Path(built).exists():
            (new_root / name).mkdir(parents=True)
            run("mount", "--bind", "-o", "ro", built, str(new_root / name))


def bury_the_dead() -> None:
    """Wait for every process of the machine that ends, for ever."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            time.sleep(0.2)


def run(*argv: str) -> None:
    """Run a program of the system."""
    program = shutil.which(argv[0], path="/usr/sbin:/usr/bin:/sbin:/bin")
    subprocess.run([program or argv[0], *argv[1:]], check=True)


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:]))
