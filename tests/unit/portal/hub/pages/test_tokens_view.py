"""What the page of tokens says of each, and what it offers for a new one."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from portal.hub.pages.tokens_view import describe_scopes, describe_tokens, list_lifetimes

DAY_S = 24 * 3600
MADE = datetime(2026, 11, 20, 12)


def token(**changes: Any) -> Any:
    known: dict[str, Any] = {
        "api_id": "a7",
        "note": "nightly training",
        "scopes": ["servers!user=ada"],
        "last_activity": None,
        "created": MADE,
        "expires_at": None,
    }
    return SimpleNamespace(**known | changes)


def view(*tokens: Any, programs: Any = (), scopes: Any = ()) -> Any:
    return describe_tokens(tokens, programs, user="ada", scopes=scopes, most_s=90 * DAY_S)


@pytest.mark.parametrize(
    ("scopes", "words"),
    [
        (["servers!user=ada"], ("start, stop and extend your sessions",)),
        (["delete:servers"], ("stop everybody's sessions",)),
        (
            ["access:servers!server=grace/"],
            ("open grace's sessions: run code and read files there",),
        ),
        (["inherit"], ("everything that you may do",)),
        (["read:users!user=ada", "custom:site"], ("custom:site", "see your account")),
        (
            ["servers!user=ada", "servers!server=ada/"],
            ("start, stop and extend your sessions",),
        ),
    ],
    ids=str,
)
def test_scopes_are_told_in_words(scopes: list[str], words: tuple[str, ...]) -> None:
    assert describe_scopes(scopes, "ada") == words


def test_a_token_says_when_it_was_made_and_when_it_expires() -> None:
    (row,) = view(token(expires_at=datetime(2026, 12, 20, 12))).tokens

    assert (row.title, row.token_id, row.is_of_session) == ("nightly training", "a7", False)
    assert row.used_at is None
    assert row.made_at == MADE.replace(tzinfo=UTC).timestamp()
    assert row.expires_at == row.made_at + 30 * DAY_S


@pytest.mark.parametrize(
    ("note", "title"),
    [
        ("Server at /user/ada/", "Your session"),
        ("Server at /jupyter/user/ada/long-run/", "Your session long-run"),
        ("Server at /user/grace/", "The session of grace"),
    ],
)
def test_the_token_of_a_session_is_named_so_and_cannot_be_revoked(note: str, title: str) -> None:
    (row,) = view(token(note=note)).tokens

    assert (row.title, row.is_of_session) == (title, True)


def test_a_token_without_a_note_can_still_be_named() -> None:
    assert view(token(note=None)).tokens[0].title == "without a name"


def test_a_program_may_what_all_its_tokens_may() -> None:
    program = {
        "token_id": "a9",
        "description": "Server at /user/ada/",
        "last_activity": MADE,
        "created": MADE,
        "tokens": [token(), token(scopes=["read:metrics"])],
    }

    (row,) = view(programs=[program]).programs

    assert (row.title, row.is_of_session) == ("Your session", False)
    assert row.may == ("read the metrics", "start, stop and extend your sessions")


def test_the_least_is_offered_first_and_metrics_only_to_who_may_read_them() -> None:
    offered = [permission.scopes for permission in view().permissions]
    of_administrators = [p.scopes for p in view(scopes={"read:metrics": True}).permissions]

    assert offered == [
        "servers!user",
        "servers!user access:servers!user",
        "access:servers!user",
        "",
    ]
    assert "read:metrics" in of_administrators


@pytest.mark.parametrize(
    ("most_days", "words", "default"),
    [
        (90, ["1 day", "7 days", "30 days", "90 days"], "30 days"),
        (14, ["1 day", "7 days", "14 days"], "14 days"),
        (1, ["1 day"], "1 day"),
        (0, ["1 day", "7 days", "30 days", "90 days", "365 days"], "30 days"),
    ],
)
def test_a_token_expires_by_default_and_no_later_than_the_site_allows(
    most_days: int, words: list[str], default: str
) -> None:
    lifetimes = list_lifetimes(most_days * DAY_S)

    assert [one.words for one in lifetimes] == words
    assert [one.words for one in lifetimes if one.is_default] == [default]
