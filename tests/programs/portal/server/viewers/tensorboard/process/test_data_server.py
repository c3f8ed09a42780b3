"""What a page of TensorBoard gets while its logs are still being read, with a stand-in reader."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from portal.server.viewers.tensorboard.process import data_server as fast_reader
from portal.server.viewers.tensorboard.process.data_server import DataServer, DataServerError

# It has read everything once the file `go` is there.
READER = """\
#!/bin/sh
for option; do
  case $option in --port-file=*) echo 4711 > "${option#--port-file=}" ;; esac
done
until [ -e "$(dirname "$0")/go" ]; do sleep 0.02; done
echo '[2026-11-21T19:02:55Z WARN  reader] a file is broken' >&2
echo '[2026-11-21T19:02:55Z INFO  reader] Finished load cycle (0.3ms)' >&2
exec sleep 60
"""
PREFIX = "/user/ada/portal/tensorboards/0"

Start = Callable[[], DataServer]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    program = tmp_path / "server"
    program.write_text(READER)
    program.chmod(0o755)
    started = []

    def start_reader() -> DataServer:
        started.append(DataServer(str(program), "logs", tmp_path / "port"))
        return started[-1]

    yield start_reader
    for data_server in started:
        with data_server.process as process:
            process.kill()


def ask(data_server: DataServer, path: str) -> threading.Event:
    """Ask for an address in the background; return what tells that the answer is there."""
    answered = threading.Event()

    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        answered.set()
        return []

    waiting = data_server.wait_before_data(app, PREFIX)
    request = {"PATH_INFO": f"{PREFIX}/{path}"}
    threading.Thread(target=waiting, args=(request, None), daemon=True).start()
    return answered


def test_data_is_answered_when_everything_was_read_and_the_page_at_once(
    start: Start, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data_server = start()
    assert data_server.address == "127.0.0.1:4711"

    data = ask(data_server, "data/runs")
    page = ask(data_server, "index.html")

    assert page.wait(5)
    assert not data.wait(0.3)
    (tmp_path / "go").touch()
    assert data.wait(5)
    log = capfd.readouterr().err
    assert "a file is broken" in log
    assert "load cycle" not in log


def test_a_reader_that_takes_long_is_not_awaited_for_ever(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_reader, "_FIRST_READ_TIMEOUT_S", 0.2)

    assert ask(start(), "experiment/defaultExperimentId/data/runs").wait(5)


def test_a_reader_that_ends_at_once_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataServerError, match="did not start"):
        DataServer("/bin/false", "logs", tmp_path / "port")
