"""The portal's own proxy, as its command starts it, and the hub's client of it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jupyterhub.proxy
import pytest
import requests
from jupyterhub.utils import exponential_backoff

from portal.hub.network import proxy as module
from portal.hub.network.proxy import SessionProxy
from tests.support.site_proxy import SiteProxy

OLD, NEW = "old-token", "new-token"


class Proxy(SiteProxy):
    """It knows a token that may not be the one in the hub's file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, n_workers=1)
        self.token_path = folder / "proxy-token"

    def restart(self, token: str) -> None:
        """Start it in place of the one that runs."""
        self.stop()
        self.start(token)

    def client(self) -> SessionProxy:
        """Return the hub's client, with the token that the file has now."""
        app = SimpleNamespace(
            users={},
            _service_map={},
            hub=SimpleNamespace(routespec="/", host="http://127.0.0.1:1"),
        )
        return SessionProxy(
            app=app,
            hub=app.hub,
            should_start=False,
            api_url=self.api_url,
            token_path=str(self.token_path),
        )


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    proxy = Proxy(tmp_path)
    proxy.token_path.write_text(OLD)
    proxy.start(OLD)
    yield proxy
    proxy.stop()


def test_as_many_cookies_as_the_hub_takes_pass(proxy: Proxy) -> None:
    headers = {"Cookie": f"of_single_sign_on={'x' * 60_000}"}

    # Its own page for a hub that is away; 431 has no body.
    assert requests.get(proxy.url, headers=headers, timeout=30).status_code == 503


def test_while_the_hub_is_away_people_and_programs_read_a_sentence(proxy: Proxy) -> None:
    sentence = "The portal does not answer at the moment. Open notebooks and jobs continue."

    page = requests.get(f"{proxy.url}/hub/home", headers={"Accept": "text/html"}, timeout=30)
    program = requests.get(f"{proxy.url}/hub/api/users/ada", timeout=30)

    assert (page.status_code, program.status_code) == (503, 503)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert f"<p>{sentence}" in page.text
    assert program.json()["message"].startswith(sentence)


async def test_the_hub_takes_a_new_token_of_the_proxy_from_its_file(proxy: Proxy) -> None:
    hub = proxy.client()
    await hub.add_route("/old/", "http://127.0.0.1:2", {})
    proxy.token_path.write_text(f"{NEW}\n")
    proxy.restart(NEW)

    await hub.add_route("/new/", "http://127.0.0.1:2", {})

    assert set(await hub.get_all_routes()) == {"/new/"}


async def test_a_refusal_is_said_once_until_the_proxy_has_the_token_again(
    proxy: Proxy, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.01)
    hub = proxy.client()
    await hub.check_routes({}, {})
    proxy.restart(NEW)
    await exponential_backoff(lambda: hub.is_refused, "nothing is refused", timeout=20)
    proxy.restart(OLD)
    await exponential_backoff(lambda: not hub.is_refused, "all is refused", timeout=20)
    hub._watch.cancel()

    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    (said,) = (error for error in errors if "refuses the hub" in error)
    assert "systemctl restart dsportal-proxy dsportal-hub" in said


async def briefly(*arguments: Any, **_: Any) -> Any:
    """Try as JupyterHub does, but not for half a minute."""
    return await exponential_backoff(*arguments, timeout=0.1)


@pytest.mark.parametrize(("is_there", "sentence"), [(True, "refuses"), (False, "does not answer")])
async def test_a_hub_that_starts_without_the_proxy_says_so_and_ends(
    proxy: Proxy,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    is_there: bool,
    sentence: str,
) -> None:
    monkeypatch.setattr(jupyterhub.proxy, "exponential_backoff", briefly)
    hub = proxy.client()
    hub.app.exit = sys.exit
    proxy.stop()
    if is_there:
        proxy.start(NEW)

    with pytest.raises(SystemExit) as caught:
        await hub.get_all_routes()

    assert caught.value.code == 1
    said = next(one.getMessage() for one in caplog.records if one.levelname == "CRITICAL")
    assert sentence in said
    assert "systemctl restart dsportal-proxy" in said
