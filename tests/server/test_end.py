"""The end of a notebook server."""

from pathlib import Path

from tests.support.notebook_server import NotebookServer

# Less than Slurm waits between SIGTERM and SIGKILL, 30 s by default.
END_TIMEOUT_S = 20


def test_a_request_that_has_not_ended_does_not_keep_the_server(
    tmp_path: Path, tensorboard_python: Path
) -> None:
    extensions = ("portal.server", "tests.support.unfinished_request")
    server = NotebookServer(tmp_path, tensorboard_python, extensions=extensions)
    try:
        server.process.terminate()
        status = server.process.wait(timeout=END_TIMEOUT_S)
    finally:
        server.kill()

    log = server.log_path.read_text()
    assert status == 0, log
    assert "Ending although a thread still runs: AnyIO worker thread" in log
