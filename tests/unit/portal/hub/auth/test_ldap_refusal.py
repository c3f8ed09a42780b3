"""What a directory says about a login that it refuses."""

from typing import Any

import pytest

from portal.hub.auth.ldap_refusal import POLICY_CONTROL, Reason, read_reason


def of_policy(value: bytes) -> dict[str, Any]:
    return {"message": "", "controls": {POLICY_CONTROL: {"value": value}}}


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (of_policy(b"0\x03\x81\x01\x00"), Reason.EXPIRED),
        (of_policy(b"0\x03\x81\x01\x01"), Reason.LOCKED),
        (of_policy(b"0\x08\xa0\x03\x80\x01\x05\x81\x01\x02"), Reason.MUST_CHANGE),
        (of_policy(b"0\x00"), None),
        (
            {
                "message": "80090308: LdapErr: DSID-0C090439, comment: AcceptSecurityContext error,"
                " data 532, v3839"
            },
            Reason.EXPIRED,
        ),
        ({"message": "AcceptSecurityContext error, data 775, v1"}, Reason.LOCKED),
        ({"message": "AcceptSecurityContext error, data 52e, v1"}, None),
        ({"message": "password expired!"}, Reason.EXPIRED),
        ({"message": "Exceed password retry limit. Please try later."}, Reason.LOCKED),
        ({"message": "Account inactivated. Contact system administrator."}, Reason.CLOSED),
        ({"message": "", "controls": None}, None),
    ],
)
def test_the_reason_is_read_where_each_directory_says_it(
    result: dict[str, Any], reason: Reason | None
) -> None:
    assert read_reason(result) is reason
