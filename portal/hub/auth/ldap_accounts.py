"""Checks accounts in LDAP without their passwords, through the reader's connection."""

from collections.abc import Sequence

import ldap3
from ldap3.utils.conv import escape_filter_chars

from portal.hub.auth.ldap_servers import LdapServerError

# LDAP's own word for "no attributes".
_NOTHING = ["1.1"]


def find_groups(
    connection: ldap3.Connection,
    groups: Sequence[str],
    *,
    group_filter: str,
    user_dn: str,
    name: str,
) -> list[str]:
    """Return those of `groups` that have an account as a member.

    Args:
        connection: Bound as an entry that may read the groups.
        group_filter: JupyterHub's `group_search_filter`, with {userdn} and {uid}.
    """
    # DNs may hold brackets and asterisks, which have a meaning in filters.
    member = group_filter.format(userdn=escape_filter_chars(user_dn), uid=escape_filter_chars(name))
    return [group for group in groups if matches(connection, group, member)]


def matches(connection: ldap3.Connection, entry: str, search_filter: str) -> bool:
    """Return whether an entry, a DN, exists and matches a filter; False only if the server says so.

    `connection` is bound as one that may read the entry.
    """
    connection.search(
        search_base=entry,
        # This entry alone: a filter cannot find anybody else's.
        search_scope=ldap3.BASE,
        search_filter=search_filter,
        attributes=_NOTHING,
    )
    outcome = connection.result["description"]
    if outcome == "noSuchObject":
        return False
    if outcome != "success":
        raise LdapServerError(f"{entry} cannot be looked up: {outcome}")
    # A referral to another server is in the response, too, and is not an entry.
    return any(found["type"] == "searchResEntry" for found in connection.response)
