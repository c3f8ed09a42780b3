"""A request for a ready session that the proxy led to the hub."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub.handlers.base import UserUrlHandler
from tornado.web import HTTPError

from spawner.hub.unreachable import RoutedHandler

ADA = SimpleNamespace(name="ada")
SPAWNER = SimpleNamespace(name="more")


class Handler(RoutedHandler):
    """What the redirect needs of JupyterHub's handler, and what it did."""

    log = logging.getLogger(__name__)
    proxy: Any = None

    def __init__(self, error: Exception | None = None) -> None:
        self.proxy = self
        self._error = error
        self.done: list[str] = []

    async def add_user(self, user: Any, name: str) -> None:
        if self._error is not None:
            raise self._error
        self.done.append(f"route of {user.name}/{name}")


@pytest.fixture(autouse=True)
def stock_redirect(monkeypatch: pytest.MonkeyPatch) -> None:
    async def redirect(self: Any, user: Any, spawner: Any) -> None:
        self.done.append(f"redirect to {user.name}/{spawner.name}")

    monkeypatch.setattr(UserUrlHandler, "_redirect_to_user_server", redirect)


async def test_the_route_is_added_before_the_browser_is_sent_there() -> None:
    handler = Handler()

    await handler._redirect_to_user_server(ADA, SPAWNER)

    assert handler.done == ["route of ada/more", "redirect to ada/more"]


@pytest.mark.parametrize("error", [TimeoutError(), HTTPError(403), OSError("no route to host")])
async def test_where_the_proxy_takes_no_route_nobody_is_sent_to_and_fro(error: Exception) -> None:
    handler = Handler(error)

    with pytest.raises(HTTPError) as caught:
        await handler._redirect_to_user_server(ADA, SPAWNER)

    assert caught.value.status_code == 503
    assert "proxy does not take its address" in caught.value.jupyterhub_message
    assert handler.done == []
