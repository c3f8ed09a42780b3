"""Device cookies: browsers that have logged in before are not delayed by others' guesses."""

import re
import secrets

from jupyterhub.handlers import BaseHandler

COOKIE = "portal-browser-"
# Counted from the last login, which sets the cookie again.
KEPT_DAYS = 90
_IDENTITY = re.compile(r"[0-9a-f]{32}")


def read_browser(handler: BaseHandler, name: str) -> str:
    """Return the device cookie that the request of `handler` carries for `name`.

    It proves only that somebody has logged in there before; the password is checked all the same.

    Returns:
        An identity that the hub signed for this name; empty if there is none.

    Source:
        OWASP, "Slow Down Online Guessing Attacks with Device Cookies".
    """
    # Tornado signs the cookie's name, too: a cookie for one user cannot be renamed to another's.
    value = handler.get_secure_cookie(f"{COOKIE}{name}", max_age_days=KEPT_DAYS)
    identity = value.decode("ascii", "replace") if value else ""
    return identity if _IDENTITY.fullmatch(identity) else ""


def remember_browser(handler: BaseHandler, name: str, browser: str) -> None:
    """Set the device cookie; browsers send it to the login page only.

    `browser` is the identity that it already has; empty for a new one. `handler` signs it.
    """
    handler.set_secure_cookie(
        f"{COOKIE}{name}",
        browser or secrets.token_hex(16),
        expires_days=KEPT_DAYS,
        path=f"{handler.hub.base_url}login",
        httponly=True,
        **handler.settings.get("cookie_options", {}),
    )
