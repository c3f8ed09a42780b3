"""Images made from containers: what is refused, and where the key of a registry goes."""

from pathlib import Path

import pytest

from portal.cli import main
from portal.environments.errors import RegistryError
from portal.environments.image import Login, parse_source, read_key
from portal.environments.registry import OWN_PATH

KEY = "key-that-nobody-reads"
IMAGE = "docker://nvcr.io/nvidia/tensorflow:24.01-tf2-py3"
# Writes down how it was called, and an image where it is asked for one.
APPTAINER = """#!/bin/sh
echo "$@" >> {log}.argv
echo "$APPTAINER_DOCKER_USERNAME $APPTAINER_DOCKER_PASSWORD" >> {log}.environ
[ "$1" = build ] && echo image > "$4"
[ "$1" = exec ] && echo 'dsportal-image ["3.12", "x86_64", ["glibc", "2.36"], {{}}, []]'
exit {status}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def install_apptainer(home: Path, *, status: int = 0) -> None:
    program = home / "apptainer"
    program.write_text(APPTAINER.format(log=home / "called", status=status))
    program.chmod(0o755)


def write_key(home: Path, mode: int = 0o600) -> Path:
    path = home / "ngc.key"
    path.write_text(f"{KEY}\n")
    path.chmod(mode)
    return path


def image_of(home: Path) -> Path:
    return home / ".local/share/data-scientist-portal/images/tf.sif"


def test_a_container_becomes_an_image_and_a_kernel_and_goes_with_it(home: Path) -> None:
    install_apptainer(home)

    assert main(["environments", "add", "tf", "--image", IMAGE]) == 0

    assert image_of(home).read_text() == "image\n"
    assert f'image = "{image_of(home)}"' in (home / OWN_PATH).read_text()

    assert main(["environments", "remove", "tf", "--yes"]) == 0
    assert not image_of(home).exists()


def test_the_key_is_in_no_argument_and_in_nothing_that_is_printed(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    install_apptainer(home)
    words = ["--image", IMAGE, "--registry-key", str(write_key(home))]

    assert main(["environments", "add", "tf", *words]) == 0

    assert (home / "called.environ").read_text().startswith(f"$oauthtoken {KEY}\n")
    printed = "".join(capfd.readouterr())
    argv = (home / "called.argv").read_text()
    for text in (argv, printed, (home / OWN_PATH).read_text(), repr(Login(user="u", key=KEY))):
        assert KEY not in text


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o700])
def test_a_key_that_others_may_read_is_refused(home: Path, mode: int) -> None:
    with pytest.raises(RegistryError, match="chmod 600"):
        read_key(write_key(home, mode))


def test_what_holds_no_key_is_refused(home: Path) -> None:
    (home / "empty").touch(mode=0o600)

    with pytest.raises(RegistryError, match="contains no key"):
        read_key(home / "empty")
    with pytest.raises(RegistryError, match="is not a file"):
        read_key(home)
    with pytest.raises(RegistryError, match="absent is not a file"):
        read_key(home / "absent")


def test_an_image_that_cannot_be_made_leaves_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install_apptainer(home, status=255)

    assert main(["environments", "add", "tf", "--image", IMAGE]) == 1

    assert "--registry-key" in capsys.readouterr().err
    assert not list(image_of(home).parent.iterdir())
    assert not (home / OWN_PATH).exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["tf", "--image", IMAGE, "--site"], "Name it with --into"),
        (["tf", "--image", "https://x/y"], "has no known form"),
        (["tf", "--image", "docker://-x"], "has no known form"),
        (["tf", "--image", "oci:/absent/image"], "/absent/image does not exist"),
        (["taken", "--image", IMAGE], "has an environment 'taken' already"),
        (["../x", "--image", IMAGE], "is not a valid name"),
    ],
)
def test_what_cannot_be_added_is_told_before_a_long_download(
    home: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    install_apptainer(home)
    (home / OWN_PATH).parent.mkdir(parents=True)
    (home / OWN_PATH).write_text('[taken]\nconda = "/c"\n')

    assert main(["environments", "add", *words]) == 1

    assert sentence in capsys.readouterr().err
    assert not (home / "called.argv").exists()


def test_an_image_that_is_there_is_kept(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install_apptainer(home)
    image_of(home).parent.mkdir(parents=True)
    image_of(home).write_text("mine\n")

    assert main(["environments", "add", "tf", "--image", IMAGE]) == 1

    assert "already exists" in capsys.readouterr().err
    assert image_of(home).read_text() == "mine\n"


def test_a_path_of_this_folder_is_made_whole(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    (home / "layout").mkdir()

    assert parse_source("oci:layout") == f"oci:{home}/layout"
