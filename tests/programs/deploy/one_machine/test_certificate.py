"""The certificate of the LDAP server of the demo."""

import os
import pwd
import shutil
import ssl
from pathlib import Path

import pytest

from deploy.one_machine import certificate

ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.mark.skipif(os.geteuid() != 0, reason="what clients trust belongs to root")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_certificate_is_made_once_without_following_planted_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, folder, trusted = (tmp_path / name for name in ("victim", "tls", "ldap-ca.pem"))
    victim.write_text("of somebody else")
    folder.mkdir()
    for constant, name in (("KEY", "key.pem"), ("CERTIFICATE", "certificate.pem")):
        (folder / name).symlink_to(victim)
        monkeypatch.setattr(certificate, constant, folder / name)
    monkeypatch.setattr(certificate, "TLS_DIR", folder)
    monkeypatch.setattr(certificate, "LDAP_CA", trusted)

    certificate.ensure_certificate(ME)
    made = trusted.read_text()
    certificate.ensure_certificate(ME)

    assert trusted.read_text() == made
    assert victim.read_text() == "of somebody else"
    for path in folder.iterdir():
        assert not path.is_symlink()
        assert path.stat().st_mode & 0o7777 == 0o600
    context = ssl.create_default_context(cafile=str(trusted))
    assert [one["subject"] for one in context.get_ca_certs()] == [((("commonName", "localhost"),),)]
