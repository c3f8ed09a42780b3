"""Who may connect over ssh."""

from types import SimpleNamespace
from typing import Any

import pytest

from portal.server.ssh.handlers import SshSocket

TOKEN = {"Authorization": "token a"}


class Authorizer:
    def __init__(self, is_open: bool) -> None:
        self.is_open = is_open

    async def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        assert (action, resource) == ("execute", "ssh")
        return self.is_open


async def refusal(
    user: str | None,
    headers: dict[str, str],
    *,
    is_open: bool = True,
    by_token: bool | None = None,
) -> str:
    by_token = "Authorization" in headers if by_token is None else by_token
    handler: Any = SimpleNamespace(
        identity_provider=SimpleNamespace(is_token_authenticated=lambda _: by_token),
        current_user=None if user is None else SimpleNamespace(username=user),
        request=SimpleNamespace(headers=headers),
        authorizer=Authorizer(is_open),
        auth_resource=SshSocket.auth_resource,
    )
    return await SshSocket._refusal(handler)


@pytest.fixture(autouse=True)
def owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_USER", "ada")


async def test_the_owner_with_a_token_may() -> None:
    assert await refusal("ada", TOKEN) == ""


async def test_only_a_token_in_the_header_suffices() -> None:
    assert "needs a token" in await refusal("ada", {"Cookie": "a"})
    assert "needs a token" in await refusal(None, TOKEN)
    # The cookie has logged in, or a token in the address.
    assert "needs a token" in await refusal("ada", {**TOKEN, "Cookie": "a"}, by_token=False)
    assert "needs a token" in await refusal("ada", {}, by_token=True)


async def test_a_colleague_or_administrator_whom_jupyterhub_lets_in_may_not() -> None:
    assert "Only its owner" in await refusal("grace", TOKEN)


async def test_a_token_that_may_not_use_the_session_is_told_so() -> None:
    assert "may not open the session" in await refusal("ada", TOKEN, is_open=False)
