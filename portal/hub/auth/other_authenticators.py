"""Login through any other authenticator of JupyterHub, named in portal.toml."""

import time
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from jupyterhub.auth import Authenticator
from jupyterhub.handlers import BaseHandler
from jupyterhub.user import User
from jupyterhub.utils import maybe_future
from traitlets import Set, TraitError, Unicode

from portal.hub.auth.account_status import AccountStatus
from portal.hub.auth.authenticator_mixin import AuthenticatorMixin
from portal.hub.auth.credentials import NoFormError, read_credentials
from portal.hub.hubs.transfer import Vouched
from portal.hub.settings.login import LoginSettings
from spawner.errors import SettingsError
from spawner.settings.schema import closest

ENTRY_POINTS = "jupyterhub.authenticators"
# Of no use here: one checks nothing, the other admits nobody.
REFUSED = {"dummy": "lets everybody in with any password", "null": "lets nobody in"}
# Set from other keys of portal.toml.
OWN_OPTIONS = {
    "admin_users": "full_admin_users in [hub]",
    "full_admin_users": "full_admin_users in [hub]",
    "hubs": "paths in [hubs]",
    "allow_all": "allow_all in [login]",
    "allow_existing_users": "allowed_users in [login]",
    "allowed_groups": "allowed_groups in [login]",
    "allowed_users": "allowed_users in [login]",
    "blocked_users": "blocked_users in [login]",
    "auth_refresh_age": "recheck_minutes in [login]",
    "auth_refresh_strict": "recheck_minutes in [login]",
    "refresh_pre_spawn": "recheck_minutes in [login]",
    "manage_groups": "allowed_groups in [login]",
    "support": "support in [site]",
    "trusted_proxies": "trusted_proxies in [hub]",
}
LDAP_OPTIONS = {
    "account_filter": "account_filter in [login]",
    "reader_dn": "reader_dn in [login]",
    "servers": "servers in [login]",
    "server_address": "servers in [login]",
    "server_hosts": "servers in [login]",
    "tls_strategy": "tls in [login]",
    "tls_kwargs": "ca_certificates in [login]",
    "ca_certificates": "ca_certificates in [login]",
    "bind_dn_template": "user_dn_template in [login]",
}
ACCOUNT_TIMEOUT_S = 5.0
# Of all allow* options of an authenticator, these are set from portal.toml.
_PORTALS_RULES = {"allow_all", "allow_existing_users", "allowed_users"}


class OtherAuthenticatorMixin(AuthenticatorMixin):
    """The portal's additions to an authenticator of JupyterHub; see `other_authenticator`."""

    unix_allowed_groups = Set(Unicode(), help="UNIX groups whose members may use the portal.").tag(
        config=True
    )

    async def authenticate(self, handler: BaseHandler, data: Any = None, **kwargs: Any) -> Any:
        """Let the authenticator decide, then look up the user's UNIX account.

        `data` is the login form, or None if another service asks for the password; `handler` and
        `kwargs` are passed on.

        Returns:
            JupyterHub's user model, or None if the authenticator refuses.
        """
        if isinstance(data, Vouched):
            self.standings.forget(data["name"])
            return await self._with_account(data)
        # super() finds no instance in a function without arguments.
        authenticate = super().authenticate
        if isinstance(data, Mapping) and "username" not in data:
            # JupyterHub's form, shown again, needs the name that was typed in.
            raise NoFormError
        if not isinstance(data, Mapping) or "password" not in data:
            user = await maybe_future(authenticate(handler, data, **kwargs))
            return await self._with_account(user) if user else None
        credentials = read_credentials(handler.request, data, self.normalize_username)
        if credentials is None:
            return None
        form = {**data, "username": credentials.name}

        async def ask() -> Any:
            return await maybe_future(authenticate(handler, form, **kwargs)) or None

        user = await self.check_in_turn(handler, credentials, ask)
        if not user:
            return None
        # A refusal that is remembered from before would sign the user out again at once.
        self.standings.forget(credentials.name)
        return await self._with_account(user)

    async def refresh_user(
        self, user: User, handler: BaseHandler | None = None, **kwargs: Any
    ) -> Any:
        """Recheck the UNIX account, then ask the authenticator itself.

        `handler` and `kwargs` are passed on.

        Returns:
            As JupyterHub defines it: False, True or a user model.
        """
        own = await super().refresh_user(user, handler, **kwargs)
        answer = await maybe_future(self._authenticators_own(user, handler, **kwargs))
        if own is False:
            return False
        if not answer:
            # An expired login at another service is renewed in a browser. Until then a running
            # session must not be cut off from the hub.
            return own if getattr(handler, "_token_authenticated", False) else answer
        groups = own if isinstance(own, dict) else {}
        return {**answer, **groups} if isinstance(answer, dict) else own

    def _authenticators_own(self, user: User, handler: BaseHandler, **kwargs: Any) -> Any:
        # Past Admission, to the authenticator that other_authenticator put behind it.
        return super(AuthenticatorMixin, self).refresh_user(user, handler, **kwargs)

    async def why_refused(
        self, name: str, groups: list[str], deadline_s: float
    ) -> AccountStatus | None:
        """Return what the settings have against an account.

        Returns:
            A refusal if only UNIX groups and names decide; None if the authenticator's own rules,
            such as allowed_organizations, may admit the user.
        """
        if self.allow_all or name in self.allowed_users or self._has_rules_of_its_own():
            return None
        is_member = bool(self.unix_allowed_groups.intersection(groups))
        return None if is_member else self.refusal_by_lists(name)

    def _has_rules_of_its_own(self) -> bool:
        rules = {name for name in self.trait_names(config=True) if name.startswith("allow")}
        return any(getattr(self, name) for name in rules - _PORTALS_RULES)

    async def check_allowed(self, username: str, authentication: dict[str, Any] | None) -> bool:
        """Return True if a user may use the portal, by UNIX group or as the authenticator says.

        `authentication` is what `authenticate` returned.
        """
        groups = (authentication or {}).get("groups") or ()
        if self.unix_allowed_groups.intersection(groups):
            return True
        return await super().check_allowed(username, authentication)

    async def _with_account(self, user: dict[str, Any] | str) -> dict[str, Any]:
        model = dict(user) if isinstance(user, Mapping) else {"name": user}
        name = self.normalize_username(model["name"])
        groups = await self.unix_groups(name, time.monotonic() + ACCOUNT_TIMEOUT_S)
        return model | {"name": name, "groups": groups}


def other_authenticator(login: LoginSettings) -> type[OtherAuthenticatorMixin]:
    """Return the authenticator that the settings name, extended by the portal's checks.

    Returns:
        A class whose options are those of the named one.
    """
    cls = _load(login.authenticator)
    check_options(cls, login.options, OWN_OPTIONS)
    # The mixin first, so that its checks are made before and after those of the named class.
    return type(f"Portal{cls.__name__}", (OtherAuthenticatorMixin, cls), {})


def check_options(
    cls: type[Authenticator], options: Mapping[str, Any], own: Mapping[str, str]
) -> None:
    """Refuse an option that the authenticator lacks, or that may not be in `options`.

    `options` is that table of [login]; `own` maps an option that has a key of its own to that key.
    """
    known = cls.class_traits(config=True)
    # Traitlets checks an option when it is set; the object is never used.
    trial: Any = object.__new__(cls)
    trial.setup_instance()
    # Authenticators refuse options about groups while this is off.
    trial.manage_groups = True
    for name, value in options.items():
        if name in own:
            raise SettingsError(f"'{name}' in 'options' of [login] is set by {own[name]}.")
        if name not in known:
            raise SettingsError(
                f"{cls.__name__} has no option '{name}', named in 'options' of [login]."
                f"{closest(name, known)} Its options: {', '.join(sorted(known))}."
            )
        if name == "client_secret":
            raise SettingsError(
                "'client_secret' in 'options' of [login] could be read by every user of this host."
                " Put a line OAUTH_CLIENT_SECRET=... into secrets.env instead."
            )
        try:
            setattr(trial, name, value)
        except TraitError as error:
            raise SettingsError(f"'{name}' in 'options' of [login]: {error}") from error


def _load(name: str) -> type[Authenticator]:
    if name in REFUSED:
        raise SettingsError(f"'authenticator' in [login] is {name!r}, which {REFUSED[name]}.")
    found = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    try:
        cls = found[name].load() if name in found else _by_path(name, found)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"'authenticator' in [login] is {name!r}, which cannot be loaded: {error}. Install its"
            " package into the environment of the hub, or correct the name."
        ) from error
    if not (isinstance(cls, type) and issubclass(cls, Authenticator)):
        raise SettingsError(
            f"'authenticator' in [login] is {name!r}, which is not an authenticator of JupyterHub."
        )
    return cls


def _by_path(name: str, found: Iterable[str]) -> Any:
    module, _, attribute = name.rpartition(".")
    if not module:
        names = sorted({"ldap", *found} - {"default", *REFUSED})
        raise SettingsError(
            f"'authenticator' in [login] is {name!r}, which is not installed here."
            f"{closest(name, names)} Installed: {', '.join(names)}. Name one, or a class in full."
        )
    return getattr(import_module(module), attribute)
