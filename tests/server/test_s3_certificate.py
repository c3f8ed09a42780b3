"""An S3 store with a certificate of the site's own authority: the drive, and boto3 in a cell."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.server.s3.plugin import offer_s3
from tests.hub.private_slapd import Authority
from tests.server.test_s3 import ask, enter, start
from tests.support.s3_server import PYTHON as MOTO_PYTHON
from tests.support.s3_server import S3Server
from tests.support.told import tables


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[S3Server, Authority]]:
    """A store with a certificate of the site's own authority."""
    authority = Authority.create(tmp_path_factory.mktemp("tls") / "authority")
    server = S3Server("ada", certificate=authority.issue("s3", "DNS:localhost"))
    server.ask("ada", "create_bucket", Bucket="lab")
    yield server, authority
    server.stop()


def test_a_certificate_of_the_sites_own_authority_is_trusted_where_the_settings_name_it(
    tls: tuple[S3Server, Authority], tmp_path: Path, tensorboard_python: Path
) -> None:
    s3, authority = tls
    settings = {"endpoint": s3.tls_url, "ca_bundle": str(authority.certificate)}
    server = start(tmp_path, tensorboard_python, **settings)
    try:
        enter(server, *s3.keys["ada"]).raise_for_status()
        model = {"type": "file", "format": "text", "content": "7"}
        assert ask(server, "PUT", "contents/lab/a.txt", json=model).status_code == 201
        assert ask(server, "GET", "files/lab/a.txt").content == b"7"
    finally:
        server.stop()


@pytest.mark.parametrize("bundle", ["usual", "other", "missing"])
def test_a_store_that_cannot_prove_who_it_is_gets_no_keys_and_the_setting_is_named(
    tls: tuple[S3Server, Authority], tmp_path: Path, tensorboard_python: Path, bundle: str
) -> None:
    s3, _ = tls
    bundles = {"usual": "", "missing": str(tmp_path / "gone.pem")}
    if bundle == "other":
        bundles["other"] = str(Authority.create(tmp_path / "other").certificate)
    told = {"endpoint": s3.tls_url, "ca_bundle": bundles[bundle]}
    server = start(tmp_path / "session", tensorboard_python, **told)
    try:
        refused = enter(server, *s3.keys["ada"])
    finally:
        server.stop()

    why = "No such file" if bundle == "missing" else "unable to get local issuer certificate"
    assert refused.status_code == 502
    assert f"S3, {s3.tls_url}, could not prove who it is ({why}" in refused.json()["message"]
    assert "ca_bundle in [s3]" in refused.json()["message"]


@pytest.mark.parametrize("with_tls", [False, True])
def test_boto3_finds_the_store_by_itself_with_the_keys_of_the_file(
    tls: tuple[S3Server, Authority], tmp_path: Path, with_tls: bool
) -> None:
    s3, authority = tls
    s3.ask("ada", "put_object", b"7", Bucket="lab", Key="digits.npz")
    access_key, secret_key = s3.keys["ada"]
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(
        f"[default]\naws_access_key_id = {access_key}\naws_secret_access_key = {secret_key}\n"
    )
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    told = {"endpoint": s3.url}
    if with_tls:
        told = {"endpoint": s3.tls_url, "ca_bundle": str(authority.certificate)}
    offer_s3(environ, tables(s3=told))
    # The cell of docs/use/s3.md.
    cell = 'import boto3; boto3.client("s3").download_file("lab", "digits.npz", "digits.npz")'

    subprocess.run([MOTO_PYTHON, "-c", cell], check=True, cwd=tmp_path, env=environ, timeout=60)

    assert (tmp_path / "digits.npz").read_bytes() == b"7"
