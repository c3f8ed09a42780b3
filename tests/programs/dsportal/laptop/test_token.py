"""Where the token of a laptop is: in Debian's gnome-keyring, or in a file without one."""

import os
import subprocess
from collections.abc import Iterator
from http.server import HTTPServer
from pathlib import Path

import pytest

from tests.needs import ensure_packages
from tests.support.checkout import PYTHONPATH
from tests.support.stand_in_server import Handler, serving

TOKEN = "0123456789abcdef"
PASSWORD = "password of the keyring"
KEPT = ".ssh/dsportal/gpu-session"
# Debian's own Python, which has keyring and its client of the Secret Service.
DSPORTAL = ("/usr/bin/python3", "-m", "dsportal.laptop")
UNLOCKED = """
printf %s "$0" | gnome-keyring-daemon --components=secrets --unlock > /dev/null && "$@"
"""


class Api(Handler):
    """A hub that knows one user."""

    def do_GET(self) -> None:
        is_known = self.headers["Authorization"] == f"token {TOKEN}"
        self.answer(200 if is_known else 403, {"name": "ada", "servers": {}})


@pytest.fixture
def url() -> Iterator[str]:
    with serving(HTTPServer(("127.0.0.1", 0), Api)) as hub:
        yield f"http://127.0.0.1:{hub.server_port}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    ensure_packages("gnome-keyring", "python3-keyring")
    return tmp_path


def run(home: Path, *argv: str, text: str = "") -> subprocess.CompletedProcess[str]:
    runtime = home / "run"
    runtime.mkdir(mode=0o700, exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": PYTHONPATH, "HOME": str(home)}
    return subprocess.run(
        argv,
        env=environment | {"XDG_RUNTIME_DIR": str(runtime)},
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def in_desktop(*argv: str) -> tuple[str, ...]:
    """Return a command that runs on a bus of its own, with the keyring unlocked."""
    return ("dbus-run-session", "--", "sh", "-c", UNLOCKED, PASSWORD, *argv)


def test_the_keyring_has_the_token_encrypted_and_gives_it_after_the_next_login_to_the_desktop(
    home: Path, url: str
) -> None:
    done = run(home, *in_desktop(*DSPORTAL, "login", url), text=TOKEN)

    assert done.returncode == 0, done.stderr
    assert (home / ".local/share/keyrings").is_dir()
    written = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert written
    assert not any(TOKEN.encode() in content for content in written)
    assert run(home, *in_desktop(*DSPORTAL, "list", "--json")).stdout == "[]\n"

    without_bus = run(home, *DSPORTAL, "list")
    assert without_bus.returncode == 1
    assert f"--keep file {url}" in without_bus.stderr


def test_without_a_keyring_the_token_is_in_a_file_that_its_user_alone_reads(
    home: Path, url: str
) -> None:
    done = run(home, *DSPORTAL, "login", url, text=TOKEN)

    assert done.returncode == 0, done.stderr
    assert (home / KEPT / "token").read_text().strip() == TOKEN
    assert (home / KEPT / "token").stat().st_mode & 0o777 == 0o600
    assert run(home, *DSPORTAL, "list", "--json").stdout == "[]\n"
    assert run(home, *DSPORTAL, "login", "--keep", "keyring", url, text=TOKEN).returncode == 1
