"""A cell that prints without end, at a real kernel of a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.server.kernels.long_output import HALF_BYTES
from tests.support.kernels import published_by
from tests.support.notebook_server import NotebookServer

N_LINES = 300_000
# 27 MB.
CODE = f"for i in range({N_LINES}): print(f'line {{i:06}}', 'x' * 78)"


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    server = NotebookServer(tmp_path_factory.mktemp("long"), tensorboard_python)
    yield server
    server.stop()


async def test_a_page_is_sent_beginning_and_end_and_a_sentence(server: NotebookServer) -> None:
    sent = await published_by(server, "python3", CODE)

    begin = "".join(each["content"]["text"] for each in sent if each["msg_type"] == "stream")
    drawn = [each["content"]["data"] for each in sent if "display_data" in each["msg_type"]]
    note, _, end = drawn[-1]["text/plain"].partition("\n")

    assert begin.startswith("line 000000 x")
    assert len(begin) == HALF_BYTES
    assert end.endswith(f"line {N_LINES - 1:06} {'x' * 78}\n")
    assert HALF_BYTES - 200 < len(end) <= HALF_BYTES
    assert "write it to a file" in note
    assert "ServerApp" not in note + begin
