"""Reads name and password from a login form, and defines the errors that a login can end with."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tornado.httputil import HTTPServerRequest
from tornado.web import HTTPError

from spawner.account_names import objection

CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f]")
LONGEST_PASSWORD = 1024
SHOWN_LENGTH = 40


class LoginError(HTTPError):
    """A login that failed for another reason than a wrong name or password.

    Args:
        retry_after_s: Seconds until another attempt makes sense; 0 sends no Retry-After.
    """

    def __init__(self, status: int, message: str, *, retry_after_s: float = 0) -> None:
        super().__init__(status)
        # JupyterHub's pages show this attribute of an exception.
        self.jupyterhub_message = message
        self.headers = {"Retry-After": f"{math.ceil(retry_after_s)}"} if retry_after_s else {}


class NoFormError(LoginError):
    """A login request without the fields of the login page."""

    def __init__(self) -> None:
        super().__init__(
            400, "The name or the password is missing. Log in with the form on the login page."
        )


class UnservedNameError(LoginError):
    """A name that the portal cannot serve, whatever the password."""

    def __init__(self, name: str, why: str) -> None:
        shown = name if len(name) <= SHOWN_LENGTH else f"{name[:SHOWN_LENGTH]}…"
        super().__init__(
            403,
            f"This portal cannot serve names like '{shown}', since it {why}. If that is your name"
            " on the cluster, ask the administrators for another one. If not, correct it.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A name that an account can have, and a password."""

    name: str
    password: str


def read_credentials(
    request: HTTPServerRequest, form: Mapping[str, str], normalize: Callable[[str], str]
) -> Credentials | None:
    r"""Return the name and password in a login form.

    Args:
        form: Its fields as JupyterHub parsed them: `username` and `password`.
        normalize: Turns a name as typed into an account name.

    Returns:
        None if they cannot be right: no name, an empty or very long password, or a control
        character anywhere.

    Source:
        tornado 6.6 turns control characters into spaces and strips them, so that "ada\n" would
        arrive as "ada": this reads the form as it was sent.
    """
    if "username" not in form:
        raise NoFormError
    sent = [value for values in request.body_arguments.values() for value in values]
    if any(CONTROL_CHARACTER.search(value.decode("utf-8", "replace")) for value in sent):
        return None
    name, password = normalize(form.get("username", "")), form.get("password", "")
    # An empty password would bind to LDAP as nobody (RFC 4513, 5.1.2).
    if not name or not password.strip() or len(password) > LONGEST_PASSWORD:
        return None
    refuse_name(name)
    return Credentials(name=name, password=password)


def refuse_name(name: str) -> None:
    """Refuse a name that the portal cannot serve."""
    if why := objection(name):
        raise UnservedNameError(name, why)
