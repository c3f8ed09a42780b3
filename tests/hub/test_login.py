"""Logging in with the cluster's accounts, and what goes wrong there."""

import http.client
from urllib.parse import urlsplit

import pytest

from tests.support.portal_client import ADDRESS, PortalClient

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


@pytest.mark.parametrize("path", ["/%ff%fe", "/hub/%ff", "//", "/user/ada/%c0%80"])
def test_an_address_that_is_none_is_not_found(path: str) -> None:
    parts = urlsplit(ADDRESS)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
    connection.request("GET", path)

    answer = connection.getresponse()

    assert answer.status == 404
    assert b"Error:" not in answer.read()
    connection.close()
