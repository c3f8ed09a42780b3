"""A machine of its own beside this one: other files, processes, network and name."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
INIT = CHECKOUT / "tests/lab/foreign/init.py"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What pip, uv and npm need to reach the registries that this machine is configured for.
KEPT = ("DSPORTAL_PACKAGES", "PIP_", "SSL_", "NPM_CONFIG_", "npm_config_", "NODE_EXTRA_CA_CERTS")
# What the cluster has beside what deploy/up installs.
PACKAGES = ("nginx-light", "logrotate", "python3-fusepy")
APT_GET = ("apt-get", "-y", "-q", "-o", "DPkg::Lock::Timeout=600")
# slirp4netns answers there, with what the resolver of the machine around says.
RESOLVER = "10.0.2.3"
POLICY = "/usr/sbin/policy-rc.d"


class Machine:
    """Namespaces that end with this object.

    Args:
        files: Root of another system, which is used as it lies there; None for a layer over this
            machine's files.
    """

    def __init__(self, files: Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="foreign-", dir="/var/tmp"))
        namespaces = ("--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child")
        self._disk = self.folder.with_suffix(".disk")
        self._disk.mkdir()
        folders = [self.folder, self._disk, CHECKOUT, *([] if files is None else [files])]
        init = ["/usr/bin/python3", "-I", str(INIT), *map(str, folders)]
        with self.folder.with_suffix(".log").open("wb") as log:
            self._unshare = subprocess.Popen(
                ["unshare", *namespaces, *init],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._unshare.stdout is not None
        if self._unshare.stdout.readline() != "ready\n":
            raise RuntimeError(self.folder.with_suffix(".log").read_text())
        children = Path(f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children")
        self.pid = int(children.read_text().split()[0])
        self._network: subprocess.Popen[str] | None = None

    def connect(self) -> None:
        """Let the machine's own network reach the registries, through a program of this machine.

        Nothing reaches the machine by it, and it reaches nothing that listens on this one only.

        Source:
            https://github.com/rootless-containers/slirp4netns/blob/master/slirp4netns.1.md
        """
        options = ("--configure", "--mtu=65520", "--disable-host-loopback", "--ready-fd=1")
        with self.folder.with_suffix(".log").open("ab") as log:
            self._network = subprocess.Popen(
                ["slirp4netns", *options, str(self.pid), "tap0"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._network.stdout is not None
        if self._network.stdout.read(1) != "1":
            raise RuntimeError(self.folder.with_suffix(".log").read_text())
        self.write("/etc/resolv.conf", f"nameserver {RESOLVER}\n")

    def run(
        self,
        *argv: str,
        has_registries: bool = False,
        is_checked: bool = True,
        stdin: str = "",
        timeout_s: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in the machine as root, as a login there would.

        Args:
            has_registries: Let it reach the package registries: it then has the network of the
                machine around, and not the cluster's.
        """
        done = subprocess.run(
            self.words(*argv, has_registries=has_registries),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if is_checked and done.returncode != 0:
            raise RuntimeError(
                f"{' '.join(argv)}: status {done.returncode}\n{done.stdout}\n{done.stderr}"
            )
        return done

    def words(self, *argv: str, has_registries: bool = False) -> list[str]:
        """Return what runs a program in the machine."""
        namespaces = ["--mount", "--pid", "--ipc", "--uts", "--root", f"--wd={self.root}{CHECKOUT}"]
        namespaces += [] if has_registries else ["--net"]
        kept = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
        # /etc/environment is what a login reads there; the cluster's own says where Slurm is.
        login = self.login_variables() | {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"}
        variables = [f"{name}={value}" for name, value in (login | kept).items()]
        return [
            *("nsenter", f"--target={self.pid}", *namespaces, "--"),
            *("env", "-i", *variables, *argv),
        ]

    @property
    def root(self) -> Path:
        """The machine's files, seen from here."""
        return Path(f"/proc/{self.pid}/root")

    def login_variables(self) -> dict[str, str]:
        """Return what a login of the machine has in its environment."""
        path = self.root / "etc/environment"
        lines = path.read_text().splitlines() if path.exists() else []
        pairs = (line.partition("=") for line in lines if "=" in line and line[0] != "#")
        return {name: value.strip('"') for name, _, value in pairs}

    def read(self, path: str) -> str:
        """Return a file of the machine."""
        return (self.root / path.lstrip("/")).read_text(errors="replace")

    def write(self, path: str, text: str, *, mode: int = 0o644) -> None:
        """Write a file of the machine, with the folders that it needs."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def close(self) -> None:
        """End the machine; nothing is left of it but files of another system."""
        if self._network is not None:
            self._network.terminate()
            self._network.communicate(timeout=30)
        os.kill(self.pid, signal.SIGKILL)
        self._unshare.wait(30)
        if self._unshare.stdout is not None:
            self._unshare.stdout.close()
        shutil.rmtree(self.folder)
        shutil.rmtree(self._disk)
        self.folder.with_suffix(".log").unlink()


def install_packages(machine: Machine) -> None:
    """Install Debian's packages in the machine only; they are gone with it."""
    known = machine.run("dpkg-query", "-W", "-f", "${Package} ", is_checked=False).stdout.split()
    missing = [name for name in PACKAGES if name not in known]
    if not missing:
        return
    # Status 101: no daemon may be started; this would be in the network of the machine around.
    machine.write(POLICY, "#!/bin/sh\nexit 101\n", mode=0o755)
    install = ("env", "DEBIAN_FRONTEND=noninteractive", *APT_GET, "install", *missing)
    words = (*install, "--no-install-recommends")
    if machine.run(*words, has_registries=True, is_checked=False, timeout_s=300).returncode:
        machine.run(*APT_GET, "update", has_registries=True, timeout_s=300)
        machine.run(*words, has_registries=True, timeout_s=300)
