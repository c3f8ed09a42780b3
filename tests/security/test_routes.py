"""Every route of hub and session: who is refused."""

import re
from collections.abc import Iterator

import pytest
import requests

from docs import make_rest
from tests.security.api import is_of_api, template
from tests.security.conftest import VICTIM, LoggedIn, Session, ask, ask_upgrade, detail
from tests.security.routes import Route, hub_routes, session_routes
from tests.security.rules import HUB, SESSION_ANYBODY, SESSION_OWNER, Who

pytestmark = pytest.mark.cluster

FORGED = {"Authorization": "token 0123456789abcdef0123456789abcdef"}
CHANGING = ("POST", "PUT", "PATCH", "DELETE")
REFUSED = frozenset({400, 401, 403, 404, 405})
# Leftovers of JupyterHub and its session, which fail for everybody and open nothing.
BREAKS_ITSELF = frozenset({
    "jupyterhub.apihandlers.auth.TokenAPIHandler",
    "jupyter_server.base.handlers.PublicStaticFileHandler",
})  # fmt: skip
# What is asked there reaches the user's own program, which has to look at tokens itself.
FORWARDS = ("jupyter_server_proxy.", "portal.server.ports.handlers.")
TO_THE_LOGIN = ("/hub/login", "/hub/api/oauth2/authorize")


@pytest.fixture(scope="module")
def routes_of_hub() -> list[Route]:
    return hub_routes(VICTIM)


@pytest.fixture(scope="module")
def routes_of_session(session: Session) -> list[Route]:
    return session_routes(VICTIM, session.pid)


def test_every_route_of_the_hub_has_a_rule(routes_of_hub: list[Route]) -> None:
    assert len(routes_of_hub) > 60

    missing = [f"{one.pattern} of {one.handler}" for one in routes_of_hub if one.pattern not in HUB]

    assert not missing, "say in tests/security/rules.py who may ask them"


def test_every_route_of_a_session_has_a_rule(routes_of_session: list[Route]) -> None:
    assert len(routes_of_session) > 80

    known = SESSION_ANYBODY | SESSION_OWNER
    missing = [
        f"{one.pattern} of {one.handler}" for one in routes_of_session if one.pattern not in known
    ]

    assert not missing, "say in tests/security/rules.py who may ask them"
    assert not SESSION_ANYBODY & SESSION_OWNER


def test_the_described_api_has_the_methods_that_the_handlers_answer(
    routes_of_hub: list[Route], routes_of_session: list[Route]
) -> None:
    described: dict[str, set[str]] = {}
    for path, method, _ in make_rest.operations(make_rest.read_spec()):
        described.setdefault(re.sub(r"\{\w+\}", "{}", path), set()).add(method.upper())
    found = {template(one.pattern): set(one.methods) for one in routes_of_hub}
    found |= {template(one.pattern, "/user/{}"): set(one.methods) for one in routes_of_session}
    answered = {path: methods for path, methods in found.items() if is_of_api(path)}

    assert len(answered) > 40
    assert {path: described.get(path) for path in answered} == answered


def closed_to(who: set[Who], routes: list[Route]) -> Iterator[Route]:
    """Yield the routes of the hub with one of these rules."""
    for route in routes:
        if HUB[route.pattern] in who:
            yield route


def is_refused(answer: requests.Response) -> bool:
    """Tell whether an answer refuses, or leads to the login."""
    if answer.is_redirect:
        return answer.headers["Location"].startswith(TO_THE_LOGIN)
    return answer.status_code in REFUSED


def wrong(asked: list[tuple[Route, str, requests.Response]]) -> list[str]:
    """Return the requests that were not refused, in words."""
    return [
        f"{method} {route.path} of {route.handler}: {detail(answer)}"
        for route, method, answer in asked
        if not is_refused(answer)
        and not (route.handler in BREAKS_ITSELF and answer.status_code == 500)
    ]


CLOSED = {Who.USERS, Who.OWNER, Who.ADMINISTRATORS, Who.SESSION}


@pytest.mark.parametrize("headers", [{}, FORGED], ids=["nobody", "forged token"])
def test_the_hub_refuses(routes_of_hub: list[Route], headers: dict[str, str]) -> None:
    asked = [
        (route, method, ask(method, route.path, headers=headers))
        for route in closed_to(CLOSED, routes_of_hub)
        for method in route.methods
    ]

    assert len(asked) > 90
    assert not wrong(asked)


@pytest.mark.parametrize("way", ["cookie", "token"])
def test_the_hub_refuses_another_user(
    routes_of_hub: list[Route], attacker: LoggedIn, way: str
) -> None:
    def answer(method: str, path: str) -> requests.Response:
        if way == "cookie":
            return attacker.ask(method, path)
        return ask(method, path, headers={"Authorization": f"token {attacker.token}"})

    others = {Who.OWNER, Who.ADMINISTRATORS, Who.SESSION}
    asked = [
        (route, method, answer(method, route.path))
        for route in closed_to(others, routes_of_hub)
        for method in route.methods
    ]

    assert len(asked) > 80
    assert not wrong(asked)


def test_the_hub_changes_nothing_for_a_cookie_without_the_token_of_its_pages(
    routes_of_hub: list[Route], victim: LoggedIn
) -> None:
    cookies = victim.client.http.cookies
    asked = [
        (route, method, ask(method, route.path, cookies=cookies))
        for route in closed_to(CLOSED, routes_of_hub)
        for method in route.methods
        if method in CHANGING
    ]

    assert len(asked) > 40
    assert not wrong(asked)


@pytest.mark.parametrize("headers", [{}, FORGED], ids=["nobody", "forged token"])
def test_a_session_refuses(routes_of_session: list[Route], headers: dict[str, str]) -> None:
    asked = [
        (route, method, ask_session(route, method, headers))
        for route in routes_of_session
        if route.pattern in SESSION_OWNER
        for method in route.methods
    ]

    assert len(asked) > 100
    assert not wrong(asked)


def test_a_session_refuses_another_user(routes_of_session: list[Route], attacker: LoggedIn) -> None:
    token = {"Authorization": f"token {attacker.token}"}
    asked = [
        (route, method, ask_session(route, method, token))
        for route in routes_of_session
        if route.pattern in SESSION_OWNER
        for method in route.methods
    ]

    assert not wrong(asked)


def test_a_session_changes_nothing_for_a_cookie_without_the_token_of_its_pages(
    routes_of_session: list[Route], victim: LoggedIn
) -> None:
    cookies = victim.client.http.cookies
    asked = [
        (route, method, ask(method, route.path, cookies=cookies))
        for route in routes_of_session
        if route.pattern in SESSION_OWNER and not route.handler.startswith(FORWARDS)
        for method in route.methods
        if method in CHANGING
    ]

    assert len(asked) > 30
    assert not wrong(asked)


def test_a_page_of_another_site_opens_no_websocket(
    routes_of_session: list[Route], victim: LoggedIn
) -> None:
    foreign = {"Origin": "https://attacker.example.com"}
    asked = [
        (route, "GET", ask_upgrade(route.path, foreign, victim.client.http.cookies))
        for route in routes_of_session
        if route.is_websocket
    ]

    assert len(asked) >= 3
    assert not wrong(asked)


def test_what_everybody_may_ask_breaks_nothing(
    routes_of_hub: list[Route], routes_of_session: list[Route]
) -> None:
    routes = [route for route in routes_of_hub if HUB[route.pattern] is Who.ANYBODY]
    routes += [route for route in routes_of_session if route.pattern in SESSION_ANYBODY]
    for path in (route.path for route in routes if route.handler not in BREAKS_ITSELF):
        answer = ask("GET", path)

        assert answer.status_code < 500, f"{path}: {detail(answer)}"
        assert "Traceback" not in answer.text


def ask_session(route: Route, method: str, headers: dict[str, str]) -> requests.Response:
    """Ask a route of the session in the way that it is meant to be asked."""
    if route.is_websocket:
        return ask_upgrade(route.path, headers)
    return ask(method, route.path, headers=headers)
