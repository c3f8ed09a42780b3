"""The certificates of sessions, and what the hub takes for one."""

import base64
import os
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509

from portal.hub.network.authority import ensure_certificates
from spawner.certificates import (
    AUTHORITY_VARIABLE,
    check_certificate,
    load_identity,
    make_identity,
    read_authority,
)
from spawner.errors import SiteError


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    ensure_certificates(tmp_path / "certificates", "10.77.0.1")
    return {
        AUTHORITY_VARIABLE: read_authority(tmp_path / "certificates"),
        "SLURM_JOB_ID": "42",
    }


def test_a_session_gets_a_key_that_is_in_no_folder_and_not_for_its_children(
    environment: dict[str, str],
) -> None:
    certificate = load_identity(environment, "10.77.0.11")

    key_path = environment["JUPYTERHUB_SSL_KEYFILE"]
    assert "deleted" in os.readlink(key_path)
    assert stat.S_IMODE(os.stat(key_path).st_mode) == 0o400
    assert not os.get_inheritable(int(key_path.rpartition("/")[2]))
    context = ssl.create_default_context(cafile=environment["JUPYTERHUB_SSL_CLIENT_CA"])
    # As JupyterHub does for each of its requests.
    for _ in range(2):
        context.load_cert_chain(environment["JUPYTERHUB_SSL_CERTFILE"], key_path)
    assert Path(environment["JUPYTERHUB_SSL_CERTFILE"]).read_text() == certificate


def test_the_certificate_names_the_job_and_its_node_and_no_two_are_the_same(
    environment: dict[str, str],
) -> None:
    first, second = (load_identity(environment, "10.77.0.11") for _ in range(2))

    assert first != second
    certificate = x509.load_pem_x509_certificate(first.encode())
    assert "job 42" in certificate.subject.rfc4514_string()
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["10.77.0.11"]


def test_what_is_beside_a_certificate_is_left_out() -> None:
    key, certificate = make_identity("one", "10.77.0.11")

    assert check_certificate(certificate + key) == certificate


@pytest.mark.parametrize("text", ["", "x", "-----BEGIN CERTIFICATE-----\nAA==\n", "\u00e4"])
def test_what_is_no_certificate_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of the library
        check_certificate(text)


def test_the_authority_is_one_line_and_its_absence_is_a_sentence(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    assert base64.b64decode(environment[AUTHORITY_VARIABLE], validate=True)

    with pytest.raises(SiteError, match="The proxy makes them when it starts"):
        read_authority(tmp_path / "nowhere")
