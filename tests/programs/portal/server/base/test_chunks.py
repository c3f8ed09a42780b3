"""The memory that uploads leave in a session's server, at a hub that is a stand-in."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from tests.lab.benchmarks.session.stand_in_hub import TOKEN
from tests.support.session_server import TIMEOUT_S, session_server

MIB = 1024 * 1024
PIECE = os.urandom(4 * MIB)
# A piece as it is received and as it is written, and what else a few hundred requests leave.
TOLERANCE_MIB = 24


@dataclass(frozen=True, slots=True)
class Server:
    """A session's server."""

    pid: int
    url: str
    home: Path

    def upload(self, name: str, n_mib: int) -> int:
        """Upload a file; return the most memory that the server held after a piece of it, MiB."""
        size = n_mib * MIB
        most_mib = 0
        with requests.Session() as http:
            http.headers["Authorization"] = f"token {TOKEN}"
            for offset in range(0, size, len(PIECE)):
                place = {"path": name, "size": size, "modified": 1, "offset": offset}
                url = f"{self.url}portal/api/uploads"
                answer = http.put(url, params=place, data=PIECE, timeout=TIMEOUT_S)
                answer.raise_for_status()
                most_mib = max(most_mib, self.anonymous_mib())
        return most_mib

    def anonymous_mib(self) -> int:
        """Return the memory that belongs to no file: what the server itself has allocated."""
        for line in Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Anonymous:"):
                return int(line.split()[1]) // 1024
        raise LookupError("Anonymous")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with session_server(tmp_path, files={"resumable_uploads": True}) as one:
        yield Server(one.pid, one.url, one.home)


def test_an_upload_of_any_size_takes_as_little_memory(server: Server) -> None:
    before_mib = server.anonymous_mib()

    for n_mib in (64, 256):
        name = f"{n_mib}.bin"
        most_mib = server.upload(name, n_mib)

        assert (server.home / name).stat().st_size == n_mib * MIB
        assert most_mib - before_mib < TOLERANCE_MIB, f"after {n_mib} MiB"
        (server.home / name).unlink()
