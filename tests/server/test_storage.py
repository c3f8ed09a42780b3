"""Files of the shared storage, opened and downloaded through the link in the home."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.support.notebook_server import NotebookServer

PAGE = "<script>parent.document</script>"


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared storage, with what colleagues put there."""
    storage = tmp_path_factory.mktemp("isilon")
    (storage / "project").mkdir()
    (storage / "project/README.md").write_text("of all\n")
    (storage / "project/page.html").write_text(PAGE)
    (storage / "project/.hidden").write_text("of all\n")
    (storage / "project/away").symlink_to("/etc/hostname")
    (storage / "project/away-folder").symlink_to("/etc")
    (storage / "project/inside").symlink_to("README.md")
    return storage


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Further storage of the site."""
    scratch = tmp_path_factory.mktemp("scratch")
    (scratch / "README.md").write_text("of the scratch\n")
    return scratch


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path, storage: Path, scratch: Path
) -> Iterator[NotebookServer]:
    places = {"isilon": str(storage), "scratch": str(scratch)}
    environ = {"JUPYTER_NO_CONFIG": "1", "PORTAL_STORAGE": json.dumps(places)}
    server = NotebookServer(tmp_path_factory.mktemp("files"), tensorboard_python, environ=environ)
    (server.root / "own.txt").write_text("mine\n")
    (server.root / "elsewhere").symlink_to("/etc")
    yield server
    server.stop()


def ask(server: NotebookServer, path: str) -> requests.Response:
    return server.http.get(f"{server.host}/user/ada/files/{path}", timeout=30)


@pytest.mark.parametrize("name", ["README.md", "inside"])
def test_a_file_of_the_storage_opens(server: NotebookServer, name: str) -> None:
    answer = ask(server, f"isilon/project/{name}")

    assert (answer.status_code, answer.text) == (200, "of all\n")
    assert ask(server, "own.txt").text == "mine\n"


def test_a_file_of_further_storage_opens_under_its_own_name(server: NotebookServer) -> None:
    assert ask(server, "scratch/README.md").text == "of the scratch\n"


def test_no_storage_leads_into_another(server: NotebookServer, scratch: Path) -> None:
    (scratch / "away").symlink_to(server.root / "isilon/project/README.md")

    assert ask(server, "scratch/away").status_code == 403


def test_it_is_downloaded_under_its_name(server: NotebookServer) -> None:
    answer = ask(server, "isilon/project/README.md?download=1")

    assert answer.text == "of all\n"
    assert "attachment" in answer.headers["Content-Disposition"]
    assert "README.md" in answer.headers["Content-Disposition"]


def test_a_colleagues_page_is_sandboxed(server: NotebookServer) -> None:
    answer = ask(server, "isilon/project/page.html")

    assert answer.text == PAGE
    assert "sandbox allow-scripts" in answer.headers["Content-Security-Policy"]
    assert "allow-same-origin" not in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("isilon/project/away", 403),
        ("isilon/project/away-folder/hostname", 403),
        ("elsewhere/hostname", 403),
        ("isilon/project", 403),
        ("isilon/project/.hidden", 404),
        ("isilon/absent", 404),
        ("isilon/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/hostname", 403),
    ],
)
def test_nothing_else_is_shown(server: NotebookServer, path: str, status: int) -> None:
    answer = ask(server, path)

    assert answer.status_code == status
    assert answer.text.strip() != Path("/etc/hostname").read_text().strip()
