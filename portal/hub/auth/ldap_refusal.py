"""Why a directory refused a login, if it says more than that name or password are wrong."""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

# draft-behera-ldap-password-policy, 6.1 and 6.2: what it is called in a request and in the answer.
POLICY_CONTROL = "1.3.6.1.4.1.42.2.27.8.5.1"


class Reason(Enum):
    """What the user is told; {contact} is whom to ask."""

    EXPIRED = (
        "Your password has expired. Change it where the cluster's passwords are changed, then log"
        " in here. If you do not know where, ask {contact}."
    )
    MUST_CHANGE = (
        "Your password has to be changed before it works here. Change it where the cluster's"
        " passwords are changed. If you do not know where, ask {contact}."
    )
    LOCKED = (
        "Your account is locked, most often after too many wrong passwords. Wait for some minutes,"
        " or ask {contact}."
    )
    CLOSED = "Your account is disabled or has expired. Ask {contact}."


# PasswordPolicyResponseValue, error.
_OF_POLICY = {0: Reason.EXPIRED, 1: Reason.LOCKED, 2: Reason.MUST_CHANGE}
# Active Directory: "AcceptSecurityContext error, data 532, v3839".
_AD_CODE = re.compile(r"AcceptSecurityContext error, data ([0-9a-f]+)")
_OF_AD = {
    "532": Reason.EXPIRED,
    "533": Reason.CLOSED,
    "701": Reason.CLOSED,
    "773": Reason.MUST_CHANGE,
    "775": Reason.LOCKED,
}
# 389 Directory Server and FreeIPA say it in words.
_IN_WORDS = (
    (re.compile(r"password.* expired|password expired", re.IGNORECASE), Reason.EXPIRED),
    (re.compile(r"locked|exceed password retry limit", re.IGNORECASE), Reason.LOCKED),
    (re.compile(r"inactivated|disabled", re.IGNORECASE), Reason.CLOSED),
)


class LdapRefusalError(Exception):
    """The directory knows the user, and says why there is no login."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.name)
        self.reason = reason


def read_reason(result: Mapping[str, Any]) -> Reason | None:
    """Return why a bind was refused; None for a wrong name or password.

    Args:
        result: `ldap3.Connection.result` of it.
    """
    control = (result.get("controls") or {}).get(POLICY_CONTROL) or {}
    if (number := _policy_error(control.get("value") or b"")) in _OF_POLICY:
        return _OF_POLICY[number]
    text = str(result.get("message") or "")
    if (code := _AD_CODE.search(text)) is not None:
        return _OF_AD.get(code[1])
    return next((reason for form, reason in _IN_WORDS if form.search(text)), None)


def _policy_error(value: bytes) -> int:
    """Return the error in a PasswordPolicyResponseValue, -1 for none.

    Source:
        The draft, 6.2: SEQUENCE of an optional warning [0], and an optional error [1] of one byte.
    """
    # The error is last: its tag, a length of 1, and the number.
    return value[-1] if len(value) >= 5 and value[-3:-1] == b"\x81\x01" else -1
