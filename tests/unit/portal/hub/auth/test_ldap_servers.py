"""For which servers a certificate is good."""

import pytest

from portal.hub.auth.ldap_servers import names_address

CERTIFICATE = {
    "subjectAltName": (
        ("DNS", "ldap.example.com"),
        ("IP Address", "10.0.0.1"),
        ("IP Address", "0:0:0:0:0:0:0:1"),
    )
}


@pytest.mark.parametrize(
    ("host", "is_named"),
    [("10.0.0.1", True), ("::1", True), ("10.0.0.2", False), ("ldap.example.com", False)],
)
def test_a_certificate_is_for_the_addresses_that_it_names(host: str, is_named: bool) -> None:
    assert names_address(CERTIFICATE, host) is is_named
