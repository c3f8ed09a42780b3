"""Checks the service that logs users in by OAuth, such as an OpenID provider."""

import asyncio
import os
from pathlib import Path
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPClientError

from portal.hub.auth.other_authenticators import other_authenticator
from portal.hub.settings.hub import HubSettings
from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Finding, Grade, ok, problem, skipped

SECRET = "OAUTH_CLIENT_SECRET"  # noqa: S105 (the name of a variable)
_TIMEOUT_S = 5.0
# What the hub sends to exchange a code; this one was never given out, so a refusal is the answer.
_NO_CODE = "grant_type=authorization_code&code=dsportal-check"


def read_secret_names(secrets_path: Path) -> frozenset[str] | None:
    """Return the variables that have a value for the hub: those of secrets.env and of this process.

    Returns:
        None if the file cannot be read, as by everybody but root.
    """
    try:
        lines = secrets_path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        lines = []
    except OSError:
        return None
    given = dict(line.strip().split("=", 1) for line in lines if "=" in line)
    return frozenset(name for name, value in {**os.environ, **given}.items() if value.strip("\"'"))


async def check_login_service(
    settings: Settings, secret_names: frozenset[str] | None
) -> list[Finding]:
    """Check secret, callback and endpoints of an OAuth authenticator.

    `secret_names` are those of `read_secret_names`.
    """
    login = settings.login
    cls: Any = other_authenticator(login)
    if not {"authorize_url", "token_url", "userdata_url"} <= set(cls.class_trait_names()):
        return [ok(f"No service to ask: {login.authenticator} checks the logins.")]
    # Authenticators refuse options about groups while this is off.
    service = cls(manage_groups=True, **login.options)
    found = [
        *assess_secret(service.client_secret_env or SECRET, secret_names),
        *assess_callback(service.oauth_callback_url, settings.hub),
    ]
    # Users' browsers ask the first, the hub itself the others.
    asked = {
        "authorize_url": (None, Grade.WARNING),
        "token_url": (_NO_CODE, Grade.PROBLEM),
        "userdata_url": (None, Grade.PROBLEM),
    }
    looks = (_probe(service, key, form, grade) for key, (form, grade) in asked.items())
    return [*found, *await asyncio.gather(*looks)]


def assess_secret(name: str, secret_names: frozenset[str] | None) -> list[Finding]:
    """Return a fault if the hub has no secret, or if that is not known.

    `name` is the authenticator's own variable; each takes that of `SECRET`, too.
    """
    if secret_names is None:
        return [skipped("it is not known whether the hub has its secret.", "Run this as root.")]
    if {name, SECRET} & secret_names:
        return []
    return [
        problem(
            f"there is no {name}, so the service refuses the hub, and nobody can log in.",
            f"Put a line {name}=... into secrets.env beside portal.toml, and restart the hub.",
        )
    ]


def assess_callback(callback_url: str, hub: HubSettings) -> list[Finding]:
    """Return a fault if the service would send users back to another address than the hub's."""
    right = f"{hub.public_url.rstrip('/')}{hub.hub_prefix}oauth_callback"
    # Without one the authenticator takes the address that the browser asked for.
    if not (callback_url and hub.public_url) or callback_url == right:
        return []
    return [
        problem(
            f"oauth_callback_url is {callback_url}, but the hub is at {hub.public_url}.",
            f"Set it to {right} in [login.options], and register that address with the service.",
        )
    ]


async def _probe(service: Any, key: str, form: str | None, grade: Grade) -> Finding:
    """Ask an endpoint of the service as the hub does.

    Returns:
        That it answers, if only with a refusal or a redirection. Not found (404) and its own faults
        (500 to 599) are no answers.
    """
    url = str(getattr(service, key))
    cure = f"Correct {key} in [login.options], start the service, or open the way to it."
    if not url:
        return problem(f"{key} is not set.", f"Set {key} in [login.options].")
    try:
        answer = await AsyncHTTPClient().fetch(
            url,
            method="GET" if form is None else "POST",
            body=form,
            follow_redirects=False,
            raise_error=False,
            request_timeout=_TIMEOUT_S,
            validate_cert=service.validate_server_cert,
        )
    # Also an address that is none.
    except (OSError, ValueError, HTTPClientError) as error:
        return Finding(grade=grade, sentence=f"{key} {url} does not answer: {error}.", cure=cure)
    if answer.code == 404 or answer.code >= 500:
        return Finding(grade=grade, sentence=f"{key} {url} answers {answer.code}.", cure=cure)
    return ok(f"{key} {url} answers.")
