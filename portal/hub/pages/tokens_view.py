"""Data of the page of tokens: what each may do in words, how long it lasts, who holds it."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from dsportal.amounts import SECONDS_PER_DAY, count

_DEFAULT_DAYS = 30
_OFFERED_DAYS = (1, 7, _DEFAULT_DAYS, 90, 365)
# How JupyterHub names what belongs to a session.
_OF_SESSION = re.compile(r"Server at \S*/user/(?P<user>[^/]+)/(?P<name>[^/]*)/?")
# What each of JupyterHub's scopes permits; {} stands for "your" or "everybody's".
_SCOPES = {
    "servers": "start, stop and extend {} sessions",
    "admin:servers": "start, stop and change {} sessions",
    "start:servers": "start {} sessions",
    "delete:servers": "stop {} sessions",
    "read:servers": "see {} sessions",
    "access:servers": "open {} sessions: run code and read files there",
    "tokens": "make and revoke {} tokens",
    "read:tokens": "list {} tokens",
    "read:users": "see {} account",
    "read:users:name": "know {} name",
    "read:users:groups": "know {} groups",
    "read:users:activity": "know the time of {} last activity",
    "users:activity": "report {} activity",
    "list:users": "list all users",
    "read:metrics": "read the metrics",
    "inherit": "everything that you may do",
    "self": "everything with your own account and sessions",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """One token, or one program that a login has authorized.

    Attributes:
        token_id: JupyterHub's, to revoke it.
        may: What it may do, each in words.
        is_of_session: A session holds it and could not run without it.
        used_at: When it was used last, in seconds since 1970 (UTC); None for never.
        made_at: Likewise; None if it is not known.
        expires_at: Likewise; None for never.
    """

    token_id: str
    title: str
    may: tuple[str, ...]
    is_of_session: bool
    used_at: float | None
    made_at: float | None
    expires_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """What a new token may be for.

    Attributes:
        scopes: JupyterHub's scopes, separated by blanks; empty for all that the user has.
    """

    title: str
    words: str
    scopes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """How long a new token may last."""

    seconds: int
    words: str
    is_default: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensView:
    """The tokens of one user, the ones used last first, and what a new one may be."""

    tokens: tuple[TokenRow, ...]
    programs: tuple[TokenRow, ...]
    permissions: tuple[Permission, ...]
    lifetimes: tuple[Lifetime, ...]


def describe_tokens(
    tokens: Iterable[Any],
    programs: Iterable[Mapping[str, Any]],
    *,
    user: str,
    scopes: Collection[str],
    most_s: int,
) -> TokensView:
    """Return the page of a `user` who has these `scopes`.

    Args:
        tokens: JupyterHub's API tokens.
        programs: What JupyterHub's handler says of OAuth clients.
        most_s: Longest lifetime of a token in seconds; 0 for no limit.
    """
    return TokensView(
        tokens=tuple(
            TokenRow(
                token_id=token.api_id,
                title=_title(token.note or "", user),
                may=describe_scopes(token.scopes, user),
                is_of_session=_OF_SESSION.fullmatch(token.note or "") is not None,
                used_at=_seconds(token.last_activity),
                made_at=_seconds(token.created),
                expires_at=_seconds(token.expires_at),
            )
            for token in tokens
        ),
        programs=tuple(
            TokenRow(
                token_id=program["token_id"],
                title=_title(program["description"], user),
                may=describe_scopes(_scopes_of(program["tokens"]), user),
                is_of_session=False,
                used_at=_seconds(program["last_activity"]),
                made_at=_seconds(program["created"]),
                expires_at=None,
            )
            for program in programs
        ),
        permissions=tuple(_permissions(scopes)),
        lifetimes=list_lifetimes(most_s),
    )


def describe_scopes(scopes: Iterable[str], user: str) -> tuple[str, ...]:
    """Return what scopes permit, each in words; a scope without words as JupyterHub writes it."""
    words = (_describe_scope(scope, user) for scope in sorted(scopes))
    return tuple(dict.fromkeys(words))


def list_lifetimes(most_s: int) -> tuple[Lifetime, ...]:
    """Return the lifetimes on offer, the shortest first, up to `most_s`; 0 for no limit."""
    most_days = most_s // SECONDS_PER_DAY
    days = [n for n in _OFFERED_DAYS if not most_days or n < most_days]
    if most_days:
        days.append(most_days)
    default = max((n for n in days if n <= _DEFAULT_DAYS), default=days[0])
    return tuple(
        Lifetime(seconds=n * SECONDS_PER_DAY, words=count(n, "day"), is_default=n == default)
        for n in days
    )


def _permissions(scopes: Collection[str]) -> Iterable[Permission]:
    yield Permission(
        title="Start and stop my sessions",
        words="See, start, stop and extend them, from a script for example.",
        scopes="servers!user",
    )
    yield Permission(
        title="Use my sessions",
        words="The same, and open them: run code, read and write your files.",
        scopes="servers!user access:servers!user",
    )
    yield Permission(
        title="Connect my own editor",
        words="Open sessions that run, with VS Code, PyCharm or ssh on my machine, but start none.",
        scopes="access:servers!user",
    )
    if "read:metrics" in scopes:
        yield Permission(
            title="Read the metrics",
            words="For Prometheus, and nothing else.",
            scopes="read:metrics",
        )
    yield Permission(
        title="Everything that I may do",
        words="Also make other tokens. Only for a program that needs it.",
        scopes="",
    )


def _describe_scope(scope: str, user: str) -> str:
    name, _, owner = scope.partition("!")
    if name not in _SCOPES:
        return scope
    kind, _, whose = owner.partition("=")
    is_own = whose.partition("/")[0] in {"", user}
    possessive = "everybody's" if not kind else "your" if is_own else f"{whose.rstrip('/')}'s"
    return _SCOPES[name].format(possessive)


def _scopes_of(tokens: Sequence[Any]) -> set[str]:
    return {scope for token in tokens for scope in token.scopes}


def _title(note: str, user: str) -> str:
    found = _OF_SESSION.fullmatch(note)
    if found is None:
        return note or "without a name"
    whose, name = unquote(found["user"]), unquote(found["name"])
    if whose == user:
        return f"Your session {name}".rstrip()
    return f"The session {name} of {whose}" if name else f"The session of {whose}"


def _seconds(moment: datetime | None) -> float | None:
    # JupyterHub stores UTC without a zone.
    return None if moment is None else moment.replace(tzinfo=UTC).timestamp()
