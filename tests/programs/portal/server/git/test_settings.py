"""Git's settings of a session, read by git itself."""

import os
import subprocess
from pathlib import Path

import pytest

from portal.server.git.settings import credential_socket, forget_credentials, offer_git
from tests.support.eventually import eventually

ASKED = "protocol=https\nhost=git.example.org\n"
KNOWN = f"{ASKED}username=ada\npassword=in-memory\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An environment that has nbdime."""
    program = tmp_path / "environment" / "bin" / "git-nbdiffdriver"
    program.parent.mkdir(parents=True)
    program.touch()
    return program.parents[1]


def offered(home: Path, prefix: Path, **variables: str) -> dict[str, str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), **variables}
    offer_git(environ, prefix, home.parent)
    return environ


def git(environ: dict[str, str], *arguments: str, stdin: str = "", folder: Path = Path("/")) -> str:
    done = subprocess.run(
        ["git", *arguments],
        env={**environ, "GIT_TERMINAL_PROMPT": "0"},
        input=stdin,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def value(environ: dict[str, str], name: str) -> str:
    return git(environ, "config", "--get", name).strip()


def test_git_compares_notebooks_by_cells(home: Path, prefix: Path) -> None:
    environ = offered(home, prefix)

    attributes = git(environ, "check-attr", "-a", "a.ipynb", folder=repository(home))

    assert attributes.count("jupyternotebook") == 2
    assert value(environ, "diff.jupyternotebook.command").startswith(f"{prefix}/bin/")


def repository(home: Path) -> Path:
    folder = home / "repository"
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def test_without_nbdime_notebooks_are_compared_as_before(home: Path, tmp_path: Path) -> None:
    environ = offered(home, tmp_path)

    assert value(environ, "core.attributesFile") == ""
    assert value(environ, "safe.bareRepository") == "explicit"


def test_what_the_user_has_set_stays(home: Path, prefix: Path) -> None:
    config = "[core]\nattributesFile = /mine\n[credential]\nhelper = store\n"
    (home / ".gitconfig").write_text(config)
    environ = offered(home, prefix)

    assert value(environ, "core.attributesFile") == "/mine"
    assert git(environ, "config", "--get-all", "credential.helper").split() == ["store"]


def test_the_users_own_attributes_stay(home: Path, prefix: Path) -> None:
    attributes = home / ".config" / "git" / "attributes"
    attributes.parent.mkdir(parents=True)
    attributes.write_text("*.csv diff=csv\n")

    assert value(offered(home, prefix), "core.attributesFile") == ""


def test_what_the_site_hands_down_stays(home: Path, prefix: Path) -> None:
    site = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "http.proxy",
        "GIT_CONFIG_VALUE_0": "http://proxy.example.org:3128",
    }
    environ = offered(home, prefix, **site)

    assert value(environ, "http.proxy") == site["GIT_CONFIG_VALUE_0"]
    assert value(environ, "safe.bareRepository") == "explicit"


def test_a_repository_inside_a_cloned_one_runs_nothing(home: Path, prefix: Path) -> None:
    mark = home / "mark"
    inner = repository(home) / "looks-harmless"
    subprocess.run(["git", "init", "-q", "--bare", inner], check=True)
    with (inner / "config").open("a") as config:
        config.write(f'[core]\nbare = false\nworktree = .\nfsmonitor = "touch {mark}; false"\n')
    # So that the trap is one: with git's own settings it runs.
    git({"PATH": os.environ["PATH"], "HOME": str(home)}, "status", folder=inner)
    assert mark.exists()
    mark.unlink()

    said = git(offered(home, prefix), "status", folder=inner)

    assert "safe.bareRepository" in said
    assert not mark.exists()


def test_passwords_are_kept_in_memory_until_the_session_ends(home: Path, prefix: Path) -> None:
    environ = offered(home, prefix)

    git(environ, "credential", "approve", stdin=KNOWN)

    assert "password=in-memory" in git(environ, "credential", "fill", stdin=ASKED)
    assert list(home.iterdir()) == []

    forget_credentials(home.parent)

    eventually(lambda: not credential_socket(home.parent).exists(), timeout_s=20)
    assert "password" not in git(environ, "credential", "fill", stdin=ASKED).replace("Password", "")


def test_a_node_without_git_has_no_settings_to_lose(
    home: Path, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    environ = offered(home, prefix)
    forget_credentials(home.parent)

    assert int(environ["GIT_CONFIG_COUNT"]) > 0
