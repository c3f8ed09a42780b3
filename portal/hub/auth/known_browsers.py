"""Browsers in which somebody has logged in before: others' guesses do not delay them."""

from __future__ import annotations

import re
import secrets
from typing import Any

COOKIE = "portal-browser-"
KEPT_DAYS = 90
_IDENTITY = re.compile(r"[0-9a-f]{32}")


def read_browser(handler: Any, name: str) -> str:
    """Return which browser a form comes from, if its user has logged in there before.

    The cookie proves no more than that; the password is asked all the same.

    Args:
        handler: The request's handler.
        name: The user that the form names.

    Returns:
        An identity that the hub has signed for this name; empty where there is none.

    Source:
        OWASP, "Slow Down Online Guessing Attacks with Device Cookies".
    """
    value = handler.get_secure_cookie(f"{COOKIE}{name}", max_age_days=KEPT_DAYS)
    identity = value.decode("ascii", "replace") if value else ""
    return identity if _IDENTITY.fullmatch(identity) else ""


def remember_browser(handler: Any, name: str, browser: str) -> None:
    """Let a browser be known the next time; only the login page is ever sent the cookie.

    Args:
        handler: The request's handler.
        name: Who has logged in.
        browser: The identity that it has; empty for a new one.
    """
    handler.set_secure_cookie(
        f"{COOKIE}{name}",
        browser or secrets.token_hex(16),
        expires_days=KEPT_DAYS,
        path=f"{handler.hub.base_url}login",
        httponly=True,
        **handler.settings.get("cookie_options", {}),
    )
