"""scopes.get_scopes_for: what is shared with a group counts for the tokens of its members, too.

JupyterHub adds a group's shares to the permissions of a user, and not to those of the user's
tokens. A session knows its guests by such a token only, and so refused every member of a group.

Source:
    JupyterHub 6.1.1, `scopes.get_scopes_for`.

Shown by:
    tests/unit/spawner/hub/patches/test_scopes.py
"""

from collections.abc import Callable
from typing import Any

from jupyterhub import orm, scopes

from spawner.patch import wrap

_ScopesFor = Callable[[Any], frozenset[str]]
# What JupyterHub's own pages use; other clients are sessions and services.
_HUB = "jupyterhub"


def count_groups() -> None:
    """Let JupyterHub count them, once."""
    wrap(scopes, "get_scopes_for", with_groups)


def with_groups(original: _ScopesFor) -> _ScopesFor:
    """Return a `get_scopes_for` of JupyterHub that counts them."""

    def get_scopes_for(orm_object: Any) -> frozenset[str]:
        held = original(orm_object)
        if isinstance(orm_object, orm.APIToken) and orm_object.user is not None:
            return frozenset(held) | _of_groups(orm_object)
        return held

    return get_scopes_for


def _of_groups(token: orm.APIToken) -> frozenset[str]:
    shared = frozenset(
        scope
        for group in token.user.groups
        for share in group.shared_with_me
        for scope in share.scopes
    )
    wanted = frozenset(token.scopes)
    if "inherit" in wanted:
        return shared
    if token.client_id != _HUB:
        # As JupyterHub has it: a session's token is good there as long as its user may enter.
        wanted |= scopes.access_scopes(token.oauth_client)
    return shared & wanted
