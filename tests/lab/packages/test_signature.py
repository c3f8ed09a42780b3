"""Checksums are signed by a key of the releaser, and ordinary programs verify them."""

import subprocess
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.packaging.signature import NAMESPACE, gpg_key, sign, ssh_key, write_sums

MAIL = "ada@example.com"


def run(*argv: str | Path, folder: Path, stdin: str = "") -> int:
    return subprocess.run(
        argv, cwd=folder, input=stdin, capture_output=True, text=True, check=False
    ).returncode


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    files = tmp_path / "files"
    files.mkdir()
    (files / "a.whl").write_text("a")
    (files / "b.deb").write_text("b")
    return write_sums(files)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    assert run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path, folder=tmp_path) == 0
    return path


def verify(signature: Path, key: Path, text: str) -> int:
    signers = key.with_name("allowed_signers")
    signers.write_text(f"{MAIL} {key.with_suffix('.pub').read_text()}")
    who = ("-f", signers, "-I", MAIL, "-n", NAMESPACE, "-s", signature)
    return run("ssh-keygen", "-Y", "verify", *who, folder=signers.parent, stdin=text)


def test_a_file_that_was_changed_no_longer_fits_the_checksums(sums: Path) -> None:
    check = ("sha256sum", "--check", "--strict", sums.name)
    assert run(*check, folder=sums.parent) == 0
    assert len(sums.read_text().splitlines()) == 2

    (sums.parent / "a.whl").write_text("another")

    assert run(*check, folder=sums.parent) == 1


def test_a_signature_of_ssh_fits_only_what_was_signed(sums: Path, key: Path) -> None:
    signature = sign(sums, ssh_key(str(key)))

    assert verify(signature, key, sums.read_text()) == 0
    assert verify(signature, key, sums.read_text().replace("a.whl", "c.whl")) != 0


def test_a_signature_of_gpg_fits_only_what_was_signed(
    sums: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    batch = ("--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback")
    made = run("gpg", *batch, "--quick-generate-key", MAIL, "ed25519", "sign", folder=tmp_path)
    assert made == 0

    try:
        signature = sign(sums, gpg_key(MAIL))

        assert run("gpg", "--verify", signature, sums, folder=tmp_path) == 0
        sums.write_text("others")
        assert run("gpg", "--verify", signature, sums, folder=tmp_path) != 0
    finally:
        run("gpgconf", "--kill", "gpg-agent", folder=tmp_path)


def test_a_key_that_is_not_there_is_named(sums: Path, tmp_path: Path) -> None:
    with pytest.raises(DeployError, match=r"SHA256SUMS was not signed: 'ssh-keygen .*no-key"):
        sign(sums, ssh_key(str(tmp_path / "no-key")))
