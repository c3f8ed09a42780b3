import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.support.tensorboard_contract")

from tests.support.notebook_server import NotebookServer  # noqa: E402

STAND_IN = Path(__file__).with_name("stand_in_tensorboard")


@pytest.fixture(scope="session")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookServer]:
    """A server on the stand-in, which allows three TensorBoards."""
    folder = tmp_path_factory.mktemp("server")
    site = json.dumps({"tensorboard": {"limit": 3}})
    environ = {"JUPYTER_NO_CONFIG": "1", "PORTAL_SETTINGS": site}
    server = NotebookServer(folder, STAND_IN, environ=environ)
    yield server
    server.stop()


@pytest.fixture
def notebook_server(one_server: NotebookServer) -> Iterator[NotebookServer]:
    yield one_server
    one_server.close_all()
