"""What the hub tells the proxy of a route."""

from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from portal.hub.network.proxy import SessionProxy

OF_ADA = {"user": "ada", "server_name": ""}


async def routes_of(
    certificate: str, target: str, data: dict[str, Any], *, lacks_certificate: bool = False
) -> list[dict[str, Any]]:
    """Return what the proxy is asked to add for a session with this certificate."""
    spawner = SimpleNamespace(certificate=certificate, lacks_certificate=lacks_certificate)
    user = SimpleNamespace(spawners={"": spawner})
    proxy = SessionProxy(
        app=SimpleNamespace(users={"ada": user}),
        should_start=False,
        auth_token="secret",
        api_url="http://127.0.0.1:1",
    )
    with mock.patch.object(SessionProxy, "api_request", autospec=True) as request:
        await proxy.add_route("/user/ada/", target, data)
    return [dict(call.kwargs["body"]) for call in request.await_args_list]


async def test_the_route_to_a_session_carries_its_certificate() -> None:
    (route,) = await routes_of("PEM", "https://10.77.0.11:30000", OF_ADA)

    assert route["certificate"] == "PEM"
    assert route["target"] == "https://10.77.0.11:30000"


@pytest.mark.parametrize("data", [OF_ADA, {"hub": True}])
async def test_a_route_by_plain_http_carries_none(data: dict[str, Any]) -> None:
    (route,) = await routes_of("", "http://10.77.0.11:30000", data)

    assert "certificate" not in route


async def test_a_session_whose_certificate_was_lost_gets_no_route() -> None:
    assert await routes_of("", "https://10.77.0.11:30000", OF_ADA) == []


async def test_what_a_start_left_behind_that_was_cut_off_gets_no_route() -> None:
    target = "http://10.77.0.11:30000"

    assert await routes_of("", target, OF_ADA, lacks_certificate=True) == []
