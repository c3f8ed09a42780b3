"""A start from the form: the account is rechecked before the browser may be sent to its page."""

from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub.handlers.pages import SpawnHandler
from tornado.web import HTTPError

from portal.hub.form.handlers import FormHandler


class Handler(FormHandler):
    authenticator = SimpleNamespace(refresh_pre_spawn=True)

    def __init__(self, *, may_log_in: bool) -> None:
        self.may_log_in = may_log_in
        self.done: list[str] = []

    async def refresh_auth(self, user: Any, force: bool = False) -> Any:
        self.done.append(f"recheck of {user.name}, force={force}")
        return user if self.may_log_in else None

    def _get_pending_url(self, user: Any, server_name: str) -> str:
        return f"/hub/spawn-pending/{user.name}{server_name}"


def ada() -> SimpleNamespace:
    return SimpleNamespace(name="ada", spawners={"": SimpleNamespace(pending=None)})


async def start(self: Handler, user: Any, *_: object) -> None:
    self.done.append(f"start of {user.name}")


async def test_a_start_begins_when_the_account_is_rechecked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SpawnHandler, "_wrap_spawn_single_user", start)
    handler = Handler(may_log_in=True)

    await handler._wrap_spawn_single_user(ada(), "", "")

    assert handler.done == ["recheck of ada, force=True", "start of ada"]


async def test_who_may_no_longer_log_in_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SpawnHandler, "_wrap_spawn_single_user", start)
    handler = Handler(may_log_in=False)

    with pytest.raises(HTTPError) as caught:
        await handler._wrap_spawn_single_user(ada(), "", "")

    assert caught.value.status_code == 403
    assert handler.done == ["recheck of ada, force=True"]


@pytest.mark.parametrize(("pending", "status"), [("spawn", 400), (None, 500)])
async def test_only_a_start_that_another_tab_began_first_is_refused_with_its_page(
    monkeypatch: pytest.MonkeyPatch, pending: str | None, status: int
) -> None:
    async def fail(self: Handler, user: Any, server_name: str, *_: object) -> None:
        user.spawners[server_name].pending = pending
        raise HTTPError(500, "Unhandled error starting server ada")

    monkeypatch.setattr(SpawnHandler, "_wrap_spawn_single_user", fail)
    handler = Handler(may_log_in=True)

    with pytest.raises(HTTPError) as caught:
        await handler._wrap_spawn_single_user(ada(), "", "")

    assert caught.value.status_code == status
    said = str(getattr(caught.value, "jupyterhub_html_message", ""))
    assert ('<a href="/hub/spawn-pending/ada">' in said) is (status == 400)
