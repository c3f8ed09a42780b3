"""The TLS front end of the installer's example, run by a real nginx on free ports."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.site.installer.texts import text_of
from tests.hub.private_slapd import Authority, free_port
from tests.support.eventually import eventually

INSTALLED = Path("/usr/sbin/nginx")
# nginx started by root gives its workers another account, which may not read pytest's folders.
CONFIG = """\
{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def find_nginx() -> Path:
    """Return Debian's nginx, or another one that is named."""
    return Path(os.environ.get("PORTAL_TEST_NGINX", INSTALLED))


@dataclass(frozen=True)
class FrontEnd:
    """Where it listens, and what it forwards to."""

    port: int
    plain_port: int

    @property
    def url(self) -> str:
        """What users open."""
        return f"https://localhost:{self.port}"

    @classmethod
    def on_free_ports(cls) -> FrontEnd:
        return cls(free_port(), free_port())

    def site(self, public_port: int, certificate: Path, key: Path) -> str:
        """Return the example with the values that an administrator sets, and with free ports."""
        text = text_of("nginx.conf")
        for pattern, value in (
            (r"^ +server_name .*$", "server_name localhost;"),
            (r"^ +ssl_certificate .*$", f"ssl_certificate {certificate};"),
            (r"^ +ssl_certificate_key .*$", f"ssl_certificate_key {key};"),
            (r"^ +listen 443 ssl;$", f"listen 127.0.0.1:{self.port} ssl;"),
            (r"^ +listen 80;$", f"listen 127.0.0.1:{self.plain_port};"),
            (r"127\.0\.0\.1:8000;$", f"127.0.0.1:{public_port};"),
        ):
            text, n_set = re.subn(pattern, value, text, flags=re.MULTILINE)
            assert n_set, f"the example has no {pattern}"
        return text


@contextlib.contextmanager
def running_nginx(
    folder: Path, front_end: FrontEnd, authority: Authority, public_port: int
) -> Iterator[None]:
    """Run the front end before a proxy on this host; go on when it listens."""
    folder.mkdir()
    certificate, key = authority.issue(folder.name, "DNS:localhost,IP:127.0.0.1")
    (folder / "site.conf").write_text(front_end.site(public_port, certificate, key))
    config = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    config.write_text(CONFIG.format(user=user, folder=folder))
    process = subprocess.Popen([find_nginx(), "-c", config, "-e", folder / "error.log"])
    try:
        # Whoever had the port before may still answer on it: nginx writes this when it has it.
        eventually((folder / "nginx.pid").exists, timeout_s=10)
        assert listens(process, front_end)
        yield
    finally:
        process.terminate()
        process.wait(10)


def listens(process: subprocess.Popen[bytes], front_end: FrontEnd) -> bool:
    """Return whether nginx takes connections; raise if it has ended."""
    if process.poll() is not None:
        pytest.fail(f"nginx ended with status {process.returncode}; its error.log says why")
    socket.create_connection(("127.0.0.1", front_end.port), 1).close()
    return True
