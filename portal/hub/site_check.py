"""What a host lacks for its settings: files that are named but absent, doors that are shut."""

from __future__ import annotations

import ssl

from portal.hub.announcements import load_announcements
from portal.hub.settings import Settings
from spawner.errors import SettingsError


def site_problems(settings: Settings) -> list[str]:
    """Return what would keep users from a session, a sentence with its cure for each.

    Args:
        settings: Settings that loaded without an error.

    Returns:
        Sentences; none if the portal can serve users. Folders that only compute nodes have are
        not looked for.
    """
    return [
        *_login_problems(settings),
        *_hub_problems(settings),
        *_page_problems(settings),
    ]


def _login_problems(settings: Settings) -> list[str]:
    problems = []
    login = settings.login
    if not (login.admits_somebody or settings.hub.admin_users):
        problems.append(
            "Nobody may log in. Set allow_all = true, allowed_users or allowed_groups in [login]."
        )
    try:
        ssl.create_default_context(cafile=str(login.ca_certificates))
    except OSError as error:
        reason = "no certificate in it" if isinstance(error, ssl.SSLError) else error.strerror
        problems.append(
            f"The LDAP certificates {login.ca_certificates} cannot be used: {reason}."
            " Copy the certificate (PEM) that signed the LDAP servers' own to this file."
        )
    return problems


def _hub_problems(settings: Settings) -> list[str]:
    state_dir = settings.hub.state_dir
    if state_dir.is_dir():
        return []
    return [
        f"The folder {state_dir} (state_dir in [hub]) does not exist."
        " Make it, owned by the hub's account, mode 0700."
    ]


def _page_problems(settings: Settings) -> list[str]:
    try:
        load_announcements(settings.pages.announcements)
    except SettingsError as error:
        return [error.message]
    return []
