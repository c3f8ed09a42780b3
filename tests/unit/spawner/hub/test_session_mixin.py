"""Whether users may be sent to what a spawner says of its server."""

from types import SimpleNamespace
from typing import Any

import pytest

from spawner.hub.session_mixin import SessionMixin
from spawner.session.session import Session


@pytest.mark.parametrize(
    ("certificates_dir", "session", "lacks"),
    [
        ("", {"has_tls": False}, False),
        # Started before internal TLS was switched on.
        ("/certificates", {"has_tls": False}, False),
        ("/certificates", {"has_tls": True, "certificate": "PEM"}, False),
        ("/certificates", {"has_tls": True}, True),
        # A start that was cut off before anything of it was saved.
        ("/certificates", None, True),
        ("", None, False),
    ],
)
def test_a_server_without_the_certificate_that_it_should_have_is_known(
    certificates_dir: str, session: dict[str, Any] | None, lacks: bool
) -> None:
    spawner = SimpleNamespace(certificates_dir=certificates_dir, session=None, certificate="")
    if session is not None:
        spawner.session = Session(session_id="0123456789abcdef", user="ada", **session)
        spawner.certificate = spawner.session.certificate

    assert SessionMixin.lacks_certificate.fget(spawner) is lacks


@pytest.mark.parametrize(
    ("of_session", "present", "is_other"),
    [
        ("a1", "a1", False),
        ("a1", "b2", True),
        # Without TLS, of an earlier release, or before the proxy has made one.
        ("", "b2", False),
        ("a1", "", False),
        ("", "", False),
    ],
)
def test_a_session_is_of_another_authority_only_if_both_are_known(
    of_session: str, present: str, is_other: bool
) -> None:
    session = Session(session_id="0123456789abcdef", user="ada", authority=of_session)
    spawner = SimpleNamespace(session=session, authority=present)

    assert SessionMixin.has_other_authority.fget(spawner) is is_other
