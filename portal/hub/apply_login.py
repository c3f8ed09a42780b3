"""Applies [login] of portal.toml to JupyterHub's authenticator."""

from __future__ import annotations

from typing import Any

from portal.hub.auth.ldap_authenticator import PortalLDAPAuthenticator
from portal.hub.auth.other_authenticators import (
    LDAP_OPTIONS,
    OWN_OPTIONS,
    check_options,
    other_authenticator,
)
from portal.hub.hubs.placement import Hubs
from portal.hub.mail.setup import note_addresses
from portal.hub.settings.loader import Settings
from portal.hub.settings.login import LoginSettings, TlsMode

TLS_STRATEGIES = {TlsMode.STARTTLS: "before_bind", TlsMode.LDAPS: "on_connect"}


def apply_login(c: Any, settings: Settings, hubs: Hubs | None) -> None:
    """Set every trait of the authenticator in the configuration object `c`."""
    login = settings.login
    cls = PortalLDAPAuthenticator if login.is_ldap else other_authenticator(login)
    c.JupyterHub.authenticator_class = cls
    authenticator = c[cls.__name__]
    if login.is_ldap:
        check_options(cls, login.options, OWN_OPTIONS | LDAP_OPTIONS)
        _apply_ldap(authenticator, login)
    else:
        authenticator.unix_allowed_groups = set(login.allowed_groups)
        # 'dsportal config check' reports if nobody may log in.
        authenticator.any_allow_config = True
        if "auth_state_groups_key" in cls.class_trait_names():
            # Groups are those of the UNIX account.
            authenticator.auth_state_groups_key = lambda _: ()
    note_addresses(authenticator, settings)
    authenticator.support = settings.site.support
    authenticator.hubs = hubs
    authenticator.trusted_proxies = list(settings.hub.trusted_proxies)
    authenticator.allow_all = login.allow_all
    authenticator.allowed_users = {*settings.hub.administrators, *login.allowed_users}
    authenticator.blocked_users = set(login.blocked_users)
    # JupyterHub's own admin_users would only ever add to what its database holds.
    authenticator.full_admin_users = set(settings.hub.full_admin_users)
    authenticator.manage_groups = True
    authenticator.auth_refresh_age = round(login.recheck_minutes * 60)
    # Tokens and starts of somebody who may no longer log in are refused, too.
    authenticator.auth_refresh_strict = True
    authenticator.refresh_pre_spawn = True
    # That a user was let in before is no reason to let them in again.
    authenticator.allow_existing_users = False
    # Last: what the site sets for its authenticator overrides what is set above.
    authenticator.update(login.options)


def _apply_ldap(authenticator: Any, login: LoginSettings) -> None:
    authenticator.servers = list(login.servers)
    authenticator.tls_strategy = TLS_STRATEGIES[login.tls]
    authenticator.ca_certificates = str(login.ca_certificates)
    authenticator.bind_dn_template = list(login.user_dn_template)
    authenticator.reader_dn = login.reader_dn
    authenticator.account_filter = login.account_filter
    authenticator.connect_timeout_s = login.connect_timeout_s
    authenticator.answer_timeout_s = login.answer_timeout_s
    authenticator.allowed_groups = list(login.allowed_groups)
