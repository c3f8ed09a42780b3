"""The commands about the portal's users: users list, users remove, users move."""

import argparse
import json
from typing import Any
from urllib.parse import quote

from dsportal.amounts import count
from portal.confirmation import may_change
from portal.hub.hubs.placement import Hubs
from portal.hub.settings.loader import load_settings
from portal.site.account import become_hub_account
from portal.site.commands.running_hub import STOP_TIMEOUT_S, ask_hub
from spawner.account_names import objection
from spawner.errors import SiteError

# The hub first checks every account, perhaps in LDAP.
_LIST_TIMEOUT_S = 60.0


def list_users(arguments: argparse.Namespace) -> int:
    """Print every user that the hub knows."""
    answer = ask_hub(load_settings(arguments.settings), "GET", "users", timeout_s=_LIST_TIMEOUT_S)
    users = answer["users"]
    print(json.dumps(users, indent=1) if arguments.json else users_text(users))
    return 0


def remove_user(arguments: argparse.Namespace) -> int:
    """Make the hub stop a user's sessions, revoke tokens and cookies, and forget the user."""
    settings = load_settings(arguments.settings)
    path = f"users/{quote(arguments.user, safe='')}"
    user = ask_hub(settings, "GET", path)
    if user["refusal"] and not arguments.even_if_allowed:
        raise SiteError(f"The hub refuses: {user['refusal']}")
    change = (
        f"Remove {user['user']}: stop {count(user['sessions'], 'session')} and revoke"
        f" {count(user['tokens'], 'token')}"
    )
    if not may_change(arguments, change):
        return 0
    done = ask_hub(
        settings,
        "DELETE",
        path,
        {"force": "yes" if arguments.even_if_allowed else ""},
        timeout_s=STOP_TIMEOUT_S,
    )
    print(
        f"{done['user']} is removed: {count(done['sessions'], 'session')} stopped,"
        f" {count(done['tokens'], 'token')} revoked, signed out everywhere."
        " The GPUs of kernels end with their sessions. Files and other jobs are left as they were."
    )
    return 0


def move_user(arguments: argparse.Namespace) -> int:
    """Give a user to another hub; no hub has to run."""
    settings = load_settings(arguments.settings)
    hubs = Hubs.of(settings)
    if hubs is None or arguments.hub not in hubs.paths:
        known = ", ".join(hubs.paths) if hubs else "none"
        raise SiteError(f"There is no hub {arguments.hub} in [hubs]. There: {known}.")
    if why := objection(arguments.user):
        raise SiteError(f"{arguments.user!r} is no user: it {why}.")
    become_hub_account(settings.hub.state_dir)
    if not may_change(arguments, f"Move {arguments.user} to {arguments.hub}"):
        return 0
    place = hubs.move(arguments.user, arguments.hub, at_once=arguments.now)
    if place.then:
        print(
            f"{arguments.user} moves from {place.hub} to {place.then} when no session runs at"
            f" {place.hub}: with the end of the last one there, or at the next login or start."
        )
    else:
        print(f"{arguments.user} is at {place.hub}.")
    return 0


def users_text(users: list[dict[str, Any]]) -> str:
    """Return the users as lines for a terminal; those who may no longer log in come first.

    `users` is the hub's answer.
    """
    rows = [
        f"{one['user']:<16} {one['account']:<15} last seen {one['last_seen'] or 'never':<10}"
        f"  {count(one['sessions'], 'session')}  {count(one['tokens'], 'token')}"
        f"{'  ' + one['administrator'] if one['administrator'] else ''}"
        for one in sorted(users, key=lambda one: (one["account"] == "may log in", one["user"]))
    ]
    return "\n".join(rows) or "Nobody has used the portal yet."
