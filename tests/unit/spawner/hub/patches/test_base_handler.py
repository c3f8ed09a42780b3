"""Requests while the hub's database cannot be written."""

from types import SimpleNamespace
from typing import Any

import pytest

from spawner.hub.patches import base_handler
from spawner.hub.patches.base_handler import _known_without_a_note, _prepared
from spawner.unwritable_database import DatabaseFullError, DatabaseLockedError


@pytest.mark.parametrize("failure", [DatabaseFullError, DatabaseLockedError])
async def test_who_asks_is_known_although_that_cannot_be_saved(failure: type[Exception]) -> None:
    class Handler:
        db = SimpleNamespace(rollback=lambda: None)

        def _record_activity(self, *_: object) -> bool:
            return True

        async def get_current_user(self) -> str:
            self._jupyterhub_user = None
            if self._record_activity():
                raise failure
            return "ada"

    get_current_user = _known_without_a_note(Handler.get_current_user)

    assert await get_current_user(Handler()) == "ada"


@pytest.mark.parametrize(
    ("method", "path", "waits"),
    [
        ("POST", "/hub/api/users/ada/server", True),
        ("DELETE", "/hub/api/users/ada/server", True),
        ("GET", "/hub/home", False),
        ("GET", "/hub/api/oauth2/authorize", True),
    ],
)
async def test_what_writes_is_refused_once_its_user_is_known(
    method: str, path: str, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[str] = []

    async def wait_in_vain(*_: Any) -> None:
        raise DatabaseLockedError

    async def prepare(_handler: Any) -> None:
        known.append("ada")

    monkeypatch.setattr(base_handler, "wait_for_lock", wait_in_vain)
    request = SimpleNamespace(method=method, path=path)
    handler = SimpleNamespace(request=request, db=SimpleNamespace(is_active=True))

    is_refused = False
    try:
        await _prepared(prepare)(handler)
    except DatabaseLockedError:
        is_refused = True

    assert is_refused is waits
    assert known == ["ada"]
