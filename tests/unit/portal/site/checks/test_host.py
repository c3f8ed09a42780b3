"""What `dsportal check` says of the proxy, from the answers of the proxy and of the hub."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Grade
from portal.site.checks.host import check_proxy

WELL = {"hub": "answers", "slurm": "answers", "proxy": "answers", "takes_sessions": True}
Load = Callable[[str], Settings]


@contextmanager
def answering(status: int, body: str) -> Iterator[int]:
    """Stand for the proxy, its API and the hub behind it; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_health = self.path == "/hub/api/dsportal/health"
            self.send_response(status if is_health else 403)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "body", "grade", "words"),
    [
        (200, json.dumps(WELL), Grade.OK, "answers through it"),
        # Another check tells of Slurm.
        (503, json.dumps(WELL | {"slurm": "no answer"}), Grade.OK, "answers through it"),
        (503, json.dumps(WELL | {"proxy": "refuses the hub"}), Grade.PROBLEM, "refuses the hub"),
        (503, "<p>The hub is away.</p>", Grade.PROBLEM, "does not answer"),
        (502, "[]", Grade.PROBLEM, "does not answer"),
    ],
)
async def test_the_proxy_is_well_if_the_hub_answers_and_may_tell_it_routes(
    load: Load, minimal_toml: str, status: int, body: str, grade: Grade, words: str
) -> None:
    with answering(status, body) as port:
        ports = f'[hub]\npublic_port = {port}\nproxy_api_url = "http://127.0.0.1:{port}"\n'
        (found,) = await check_proxy(load(minimal_toml.replace("[hub]\n", ports)))

    assert found.grade is grade
    assert words in found.sentence
