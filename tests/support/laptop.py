"""A user's laptop: the portal's program, as its help page offers it, and OpenSSH's own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from tests.support.portal_client import ADDRESS

TIMEOUT_S = 90
NAME = "gpu-session"


class Laptop:
    """A home folder with what the portal's program makes in it.

    Args:
        authority: Certificate of the authority that the laptop trusts; None for the system's.
    """

    def __init__(self, home: Path, address: str = ADDRESS, authority: Path | None = None) -> None:
        self.home = home
        self.address = address
        self.environment = {**os.environ, "HOME": str(home)}
        if authority is not None:
            self.environment["SSL_CERT_FILE"] = str(authority)
        self.archive = home / "dsportal.pyz"
        with requests.Session() as http:
            # Else the authorities that the environment names are asked in its place.
            http.trust_env = False
            http.verify = str(authority) if authority else True
            got = http.get(f"{address}/hub/help/dsportal.pyz", timeout=30)
        got.raise_for_status()
        self.archive.write_bytes(got.content)

    def set_up(self, token: str) -> subprocess.CompletedProcess[str]:
        """Run the one command that users run."""
        return self.portal("setup", self.address, text=f"{token}\n")

    def portal(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command of the portal's program."""
        return self.run(sys.executable, str(self.archive), *words, text=text)

    def proxy(self) -> subprocess.CompletedProcess[str]:
        """Run what ssh runs, without an ssh that says anything."""
        return self.portal("proxy", NAME)

    def ssh(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run ssh with these options and this command; the host stands where "HOST" is."""
        return self.run("ssh", *self.options, *words, text=text)

    @property
    def options(self) -> tuple[str, ...]:
        """Options of ssh, scp and sftp that stand for ~/.ssh/config of this home."""
        return ("-F", str(self.home / ".ssh/config"), "-o", "BatchMode=yes")

    def run(self, *argv: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program here."""
        return subprocess.run(
            argv,
            env=self.environment,
            cwd=self.home,
            input=text,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    @contextmanager
    def running(
        self, *argv: str, errors: int = subprocess.STDOUT
    ) -> Iterator[subprocess.Popen[str]]:
        """Yield a program that stays; its output has its errors, too, unless they go elsewhere."""
        program = subprocess.Popen(
            argv,
            env=self.environment,
            cwd=self.home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            yield program
        finally:
            program.kill()
            program.communicate()
