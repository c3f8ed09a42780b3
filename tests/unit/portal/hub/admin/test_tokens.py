"""Tokens of the site's own services."""

import os
from pathlib import Path

import pytest

from portal.hub.admin.tokens import (
    OPERATOR,
    PROXY,
    ensure_token,
    read_token,
    site_services,
)
from spawner.errors import SiteError


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def foreign_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of another account."""
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    return tmp_path


def test_a_token_is_long_random_and_readable_by_the_hub_alone(tmp_path: Path) -> None:
    old_mask = os.umask(0)
    try:
        token, other = ensure_token(tmp_path, OPERATOR), ensure_token(tmp_path, PROXY)
    finally:
        os.umask(old_mask)

    assert len(token) == 64
    assert token != other
    assert mode(tmp_path / "operator-token") == mode(tmp_path / "proxy-token") == 0o600


def test_a_token_that_exists_is_kept(tmp_path: Path) -> None:
    token = ensure_token(tmp_path, OPERATOR)

    assert ensure_token(tmp_path, OPERATOR) == token == read_token(tmp_path, OPERATOR)


def test_in_the_folder_of_another_account_no_token_is_made(foreign_dir: Path) -> None:
    assert ensure_token(foreign_dir, OPERATOR) == ""
    assert list(foreign_dir.iterdir()) == []


def test_without_the_folder_there_is_no_token(tmp_path: Path) -> None:
    assert ensure_token(tmp_path / "nowhere", OPERATOR) == ""


def test_a_missing_token_says_where_it_should_be_and_who_makes_it(tmp_path: Path) -> None:
    with pytest.raises(SiteError) as refused:
        read_token(tmp_path, OPERATOR)

    assert str(refused.value) == (
        f"{tmp_path}/operator-token cannot be read: No such file or directory. The hub makes it"
        " when it starts. Read it as root or as the hub's account."
    )


def test_each_service_may_do_its_own_work_and_nothing_else(tmp_path: Path) -> None:
    services, roles = site_services(tmp_path)

    token = read_token(tmp_path, OPERATOR)
    assert services == [{"name": "dsportal-operator", "api_token": token}]
    assert roles == [
        {
            "name": "dsportal-operator",
            "scopes": ["list:users", "read:users", "admin:servers", "read:metrics"],
            "services": ["dsportal-operator"],
        },
    ]


def test_a_service_without_a_token_has_no_rights(foreign_dir: Path) -> None:
    assert site_services(foreign_dir) == ([], [])
