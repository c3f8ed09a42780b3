"""Checks the host against portal.toml: missing files, nobody allowed to log in."""

import ssl
from pathlib import Path

from portal.hub.messages.announcements import load_announcements
from portal.hub.settings.loader import Settings
from portal.hub.settings.login import LoginSettings
from spawner.errors import SettingsError

PAM_DIR = Path("/etc/pam.d")


def site_problems(settings: Settings) -> list[str]:
    """Return what would keep users from a session: one sentence each, with its remedy.

    Returns:
        Empty if the portal can serve users. Folders that only compute nodes have are not checked.
    """
    return [
        *_login_problems(settings),
        *_hub_problems(settings),
        *_page_problems(settings),
    ]


def _login_problems(settings: Settings) -> list[str]:
    problems = []
    login = settings.login
    if not (login.admits_somebody or settings.hub.administrators):
        problems.append(
            "Nobody may log in. Set allow_all = true, allowed_users or allowed_groups in [login]."
        )
    if not login.is_ldap:
        return [*problems, *_other_login_problems(login)]
    try:
        ssl.create_default_context(cafile=str(login.ca_certificates))
    except OSError as error:
        # An SSLError is an OSError whose strerror means little to administrators.
        reason = "no certificate in it" if isinstance(error, ssl.SSLError) else error.strerror
        problems.append(
            f"The LDAP certificates {login.ca_certificates} cannot be used: {reason}."
            " Copy the certificate (PEM) that signed the LDAP servers' own to this file."
        )
    return problems


def _other_login_problems(login: LoginSettings) -> list[str]:
    # This module is also loaded without JupyterHub installed.
    from portal.hub.auth.other_authenticators import other_authenticator

    try:
        other_authenticator(login)
    except SettingsError as error:
        return [error.message]
    if login.authenticator != "pam":
        return []
    # JupyterHub's PAMAuthenticator uses the service "login" by default.
    service = PAM_DIR / str(login.options.get("service", "login"))
    if service.is_file():
        return []
    return [
        f"The PAM service {service} does not exist. Write it, or name another with"
        ' options = { service = "..." } in [login].'
    ]


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
        load_announcements(settings.site.announcements)
    except SettingsError as error:
        return [error.message]
    return []
