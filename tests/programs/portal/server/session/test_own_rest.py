"""What programs of the user are told by hub and session without a token of their own."""

import json
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import ThreadingHTTPServer

import pytest

from dsportal.session_socket import open_answer
from tests.programs.portal.server.conftest import STAND_IN
from tests.support.notebook_server import TOKEN, NotebookServer
from tests.support.stand_in_server import Handler, serving

WAITS = b'data: {"message": "All GPUs are in use."}\n\n'


class Hub(Handler):
    """Streams how a start goes on, and refuses all else."""

    may_end = threading.Event()

    def do_GET(self) -> None:
        is_known = self.headers["Authorization"] == f"token {TOKEN}"
        is_stream = self.path == "/hub/api/users/ada/server/progress" and is_known
        self.send_response(HTTPStatus.OK if is_stream else HTTPStatus.CONFLICT)
        self.end_headers()
        self.wfile.write(WAITS if is_stream else json.dumps({"message": self.path}).encode())
        if is_stream:
            self.wfile.flush()
            self.may_end.wait()


@pytest.fixture(scope="module")
def socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Hub)) as hub:
        url = f"http://127.0.0.1:{hub.server_port}/hub/api"
        environ = {"JUPYTERHUB_API_TOKEN": TOKEN, "JUPYTERHUB_API_URL": url}
        folder = tmp_path_factory.mktemp("server")
        server = NotebookServer(folder, STAND_IN, environ={"JUPYTER_NO_CONFIG": "1", **environ})
        (path,) = server.tmp_dir.glob("dsportal-*/kernels")
        yield str(path)
        server.stop()
        Hub.may_end.set()


def told(socket: str, path: str) -> tuple[int, bytes]:
    with open_answer(socket, "GET", path) as answer:
        return answer.status, answer.read()


def test_the_session_itself_answers_as_it_does_to_its_user(socket: str) -> None:
    assert told(socket, "/user/ada/api/sessions") == (200, b"[]")
    assert told(socket, "/user/ada/portal/api/sweeps?name=none")[0] == 400


def test_a_stream_of_the_hub_is_told_as_far_as_it_has_come(socket: str) -> None:
    assert told(socket, "/hub/api/users/ada/server/progress") == (200, WAITS)


def test_a_refusal_of_the_hub_is_told_in_its_words(socket: str) -> None:
    path = "/hub/api/dsportal/session?job=1&job=2"

    assert told(socket, path) == (409, json.dumps({"message": path}).encode())
