"""What `dsportal check` says of the proxy, from the answers of the proxy and of the hub."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

import pytest

from portal.hub.admin.tokens import PROXY, ensure_token
from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Grade
from portal.site.checks.host import check_proxy
from tests.support.stand_in_server import Handler, serving

WELL = {"hub": "answers", "slurm": "answers", "proxy": "answers", "takes_sessions": True}
Load = Callable[[str], Settings]


@contextmanager
def answering(status: int, body: str, n_workers: int = 1) -> Iterator[int]:
    """Stand for the proxy, its API and the hub behind it; yield the port."""

    class OfProxy(Handler):
        def do_GET(self) -> None:
            answers = {
                "/hub/api/dsportal/health": (status, body),
                "/api/start": (200, json.dumps({"start": "of this test", "workers": n_workers})),
            }
            code, content = answers.get(self.path, (403, ""))
            self.send_response(code)
            self.end_headers()
            self.wfile.write(content.encode())

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), OfProxy)) as server:
        yield server.server_port


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
    with answering(status, body) as public, answering(status, body) as api:
        (found,) = await check_proxy(site(load, minimal_toml, public, api).hub)

    assert found.grade is grade
    assert words in found.sentence


async def test_workers_of_the_proxy_that_are_missing_are_counted(
    load: Load, minimal_toml: str
) -> None:
    well = json.dumps(WELL)
    toml = minimal_toml.replace("[hub]", "[hub]\nproxy_workers = 3")
    with answering(200, well, n_workers=2) as public, answering(200, well) as api:
        _, warned = await check_proxy(site(load, toml, public, api).hub)

    assert warned.grade is Grade.WARNING
    assert warned.sentence.startswith("2 workers of the proxy")


def site(load: Load, toml: str, public_port: int, api_port: int) -> Settings:
    """Return the settings of a site whose proxy and hub answer at these ports."""
    lines = (
        "[hub]",
        f"public_port = {public_port}",
        f"api_port = {api_port}",
        f'proxy_api_url = "http://127.0.0.1:{public_port}"',
    )
    settings = load(toml.replace("[hub]", "\n".join(lines)))
    settings.hub.state_dir.mkdir()
    ensure_token(settings.hub.state_dir, PROXY)
    return settings
