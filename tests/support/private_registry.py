"""A real container registry of our own, which wants a key as NVIDIA's does."""

import contextlib
import json
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import requests

from tests.hub.private_slapd import Authority
from tests.support.eventually import eventually

PROGRAM = Path("/usr/bin/docker-registry")
USER, KEY = "$oauthtoken", "nvapi-for-tests"
# crypt(3) of that key, by bcrypt: the only kind that the registry takes.
_HTPASSWD = f"{USER}:$2y$05$abcdefghijklmnopqrstuuVLJG937xS78/zjbZVI4YAKDLOaNV58m\n"
_CONFIG = """\
version: 0.1
log: {{level: warn}}
storage: {{filesystem: {{rootdirectory: {folder}/data}}}}
http:
  addr: localhost:{port}
  tls: {{certificate: {certificate}, key: {key}}}
auth: {{htpasswd: {{realm: registry, path: {folder}/htpasswd}}}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """A registry that runs.

    Attributes:
        host: "localhost:PORT".
    """

    host: str
    certificate: Path

    def ask(
        self, method: str, path: str, data: bytes = b"", media_type: str = ""
    ) -> requests.Response:
        """Ask as the user with the key; `path` may be a whole address."""
        return requests.request(
            method,
            path if path.startswith("https:") else f"https://{self.host}/v2/{path}",
            data=data,
            headers={"Content-Type": media_type or "application/octet-stream"},
            auth=(USER, KEY),
            verify=str(self.certificate),
            timeout=30,
        )

    def push(self, layout: Path, name: str, tag: str) -> str:
        """Take an image from an OCI layout; return what apptainer calls it.

        Source:
            https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md, "Push".
        """
        for blob in (layout / "blobs/sha256").iterdir():
            upload = self.ask("POST", f"{name}/blobs/uploads/").headers["Location"]
            joint = "&" if "?" in upload else "?"
            self.ask(
                "PUT", f"{upload}{joint}digest=sha256:{blob.name}", blob.read_bytes()
            ).raise_for_status()
        (manifest,) = json.loads((layout / "index.json").read_text())["manifests"]
        content = (layout / "blobs/sha256" / manifest["digest"].partition(":")[2]).read_bytes()
        answer = self.ask("PUT", f"{name}/manifests/{tag}", content, manifest["mediaType"])
        answer.raise_for_status()
        return f"docker://{self.host}/{name}:{tag}"


@contextlib.contextmanager
def running_registry(folder: Path) -> Iterator[Registry]:
    """Run a registry that has nothing yet."""
    authority = Authority.create(folder / "authority")
    certificate, key = authority.issue("registry", "DNS:localhost")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "config.yml"
    config.write_text(_CONFIG.format(folder=folder, port=port, certificate=certificate, key=key))
    (folder / "htpasswd").write_text(_HTPASSWD)
    registry = Registry(host=f"localhost:{port}", certificate=authority.certificate)

    def answers() -> bool:
        with contextlib.suppress(requests.ConnectionError):
            return registry.ask("GET", "").ok
        return False

    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([PROGRAM, "serve", config], stdout=log, stderr=log)
    try:
        eventually(answers, timeout_s=20)
        yield registry
    finally:
        process.terminate()
        process.wait(timeout=10)
