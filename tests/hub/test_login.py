"""Logging in with the cluster's accounts, and what goes wrong there."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

import pytest

from tests.support.portal_client import ADDRESS, PortalClient, demo_password

pytestmark = pytest.mark.cluster


def is_logged_in(client: PortalClient) -> bool:
    answer = client.http.get(f"{ADDRESS}/hub/home", allow_redirects=False, timeout=10)
    return answer.status_code == 200


@pytest.mark.parametrize("user", ["ada", "grace"])
def test_a_demo_user_logs_in_and_sees_my_server(user: str) -> None:
    client = PortalClient(user)
    page = client.login()

    assert page.ok
    assert page.url.endswith("/hub/home")
    assert "My Server" in page.text


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("ada", "wrong"),
        ("ada)(uid=*", None),
        ("root", None),
    ],
)
def test_a_wrong_name_or_password_is_refused_in_words(user: str, password: str | None) -> None:
    client = PortalClient(user, demo_password() if password is None else password)

    page = client.login()

    assert not is_logged_in(client)
    assert page.status_code == 403
    assert "Traceback" not in page.text
    assert "login" in page.url


@pytest.mark.parametrize("path", ["/%ff%fe", "/hub/%ff", "//", "/user/ada/%c0%80"])
def test_an_address_that_is_none_is_not_found(path: str) -> None:
    parts = urlsplit(ADDRESS)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
    connection.request("GET", path)

    answer = connection.getresponse()

    assert answer.status == 404
    assert b"Error:" not in answer.read()
    connection.close()
