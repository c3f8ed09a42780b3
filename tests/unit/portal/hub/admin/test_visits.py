"""What counts as going to somebody else's session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub.user import User

from portal.hub.admin.visits import read_visit


def answered(method: str, path: str, *, user: str = "grace", status: int = 204) -> Any:
    visitor = object.__new__(User)
    visitor.__dict__["orm_user"] = SimpleNamespace(name=user)
    return SimpleNamespace(
        _jupyterhub_user=visitor,
        get_status=lambda: status,
        request=SimpleNamespace(method=method, path=path),
    )


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/hub/api/users/ada/tokens"),
        ("DELETE", "/hub/api/users/ada/server"),
        ("POST", "/hub/api/users/ada/servers/second"),
        ("POST", "/hub/api/dsportal/users/ada/extend"),
        ("POST", "/hub/spawn/ada"),
        ("POST", "/hub/cluster/stop/ada"),
        ("DELETE", "/base/hub/api/users/ada"),
    ],
)
def test_what_is_done_to_somebody_else_is_a_visit(method: str, path: str) -> None:
    visit = read_visit(answered(method, path))

    assert visit is not None
    assert (visit.visitor, visit.host) == ("grace", "ada")
    assert path in visit.what


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(answered("GET", "/hub/api/users/ada"), id="only looked"),
        pytest.param(answered("DELETE", "/hub/api/users/grace/server"), id="one's own"),
        pytest.param(answered("POST", "/hub/api/users/ada/tokens", status=403), id="refused"),
        pytest.param(answered("POST", "/hub/login"), id="nobody's"),
    ],
)
def test_everything_else_is_none(handler: Any) -> None:
    assert read_visit(handler) is None


def test_who_is_nobody_visits_nobody() -> None:
    nobody = answered("POST", "/hub/api/users/ada/tokens")
    nobody._jupyterhub_user = None

    assert read_visit(nobody) is None
