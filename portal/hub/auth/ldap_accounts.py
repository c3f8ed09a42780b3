"""What the directory says of an account when its owner is not there to give the password."""

from __future__ import annotations

from collections.abc import Sequence

import ldap3
from ldap3.utils.conv import escape_filter_chars

from portal.hub.auth.ldap_servers import LdapServerError

# LDAP's own word for "no attributes".
_NOTHING = ["1.1"]


def admits(connection: ldap3.Connection, user_dn: str, account_filter: str) -> bool:
    """Return whether an entry is there and matches a filter.

    Args:
        connection: Logged in as an entry that may read this one.
        user_dn: The entry.
        account_filter: An LDAP filter that the entries of everybody who may log in match.

    Returns:
        False only where the server says so.

    Raises:
        LdapServerError: If the server says neither.
    """
    return _found(connection, user_dn, account_filter)


def groups_of(
    connection: ldap3.Connection,
    groups: Sequence[str],
    *,
    group_filter: str,
    user_dn: str,
    name: str,
) -> list[str]:
    """Return which groups of the directory an account is in.

    Args:
        connection: Logged in as an entry that may read the groups.
        groups: DNs of the groups to look at.
        group_filter: JupyterHub's `group_search_filter`, with {userdn} and {uid}.
        user_dn: The account's entry.
        name: Its user name.

    Returns:
        Those of `groups` that have it as a member.

    Raises:
        LdapServerError: If the server does not say.
    """
    member = group_filter.format(userdn=escape_filter_chars(user_dn), uid=escape_filter_chars(name))
    return [group for group in groups if _found(connection, group, member)]


def _found(connection: ldap3.Connection, entry: str, search_filter: str) -> bool:
    connection.search(
        search_base=entry,
        search_scope=ldap3.BASE,
        search_filter=search_filter,
        attributes=_NOTHING,
    )
    outcome = connection.result["description"]
    if outcome == "noSuchObject":
        return False
    if outcome != "success":
        raise LdapServerError(f"{entry} cannot be looked up: {outcome}")
    return any(found["type"] == "searchResEntry" for found in connection.response)
