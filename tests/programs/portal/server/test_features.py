"""A session whose feature was left out, folder and all: the rest of it runs."""

import json
from pathlib import Path

import pytest

from portal.server.features import NAMES
from tests.support.checkout import CHECKOUT, PYTHONPATH
from tests.support.notebook_server import NotebookServer

PACKAGE = CHECKOUT / "portal"
# One address of each feature; the others have none, or change answers of Jupyter's own.
ROUTES = {
    "courses": "portal/api/courses",
    "downloads": "nbconvert/html/any.ipynb",
    "environments": "portal/api/environments/tasks",
    "files": "portal/api/uploads?path=new.bin&size=1&modified=1",
    "jobs": "portal/jobs",
    "kernel_jobs": "portal/api/kernels/any/gpus",
    "kernels": "portal/api/environments",
    "notebook_jobs": "portal/api/notebook-jobs",
    "ports": "port/1/",
    "reading": "portal/reading",
    "s3": "portal/api/s3/keys",
    "session": "portal/api/session",
    "ssh": "portal/ssh",
    "storage": "portal/api/storage",
    "templates": "portal/api/templates",
    "viewers": "portal/api/tensorboards",
    "web_tools": "portal/api/tools",
}
WITHOUT_ROUTES = {"collaboration", "exports", "git", "rescue", "sharing", "terminals"}
EVERYTHING_ON = {
    "files": {"downloads": False, "previews": True, "resumable_uploads": True},
    "git": {"enabled": True},
    "sharing": {"enabled": True},
    "s3": {"endpoint": "http://127.0.0.1:9"},
    "notebooks": {"save_output": True},
}


def package_without(name: str, folder: Path) -> None:
    """Put links to all of the package but one feature into a folder."""
    server = folder / "portal" / "server"
    server.mkdir(parents=True)
    for entry in (*PACKAGE.iterdir(), *(PACKAGE / "server").iterdir()):
        place = folder / entry.relative_to(CHECKOUT)
        if place != server and place != server / name:
            place.symlink_to(entry)


def answers_without(name: str, tmp_path: Path) -> dict[str, int]:
    """Return what a session answers that lacks a feature; it has to start and end well."""
    package_without(name, tmp_path / "site")
    server = NotebookServer(
        tmp_path,
        Path("/bin/false"),
        environ={
            "JUPYTER_NO_CONFIG": "1",
            "PYTHONPATH": f"{tmp_path / 'site'}:{PYTHONPATH}",
            "PORTAL_SETTINGS": json.dumps(EVERYTHING_ON),
        },
    )
    try:
        address = f"{server.host}/user/ada/"
        found = {
            one: server.http.get(f"{address}{path}", timeout=30).status_code
            for one, path in ROUTES.items()
        }
    finally:
        server.stop()
    log = server.log_path.read_text()
    assert "portal.server | extension was successfully loaded" in log
    traced = [line for line in log.splitlines() if line.lstrip().startswith("File ")]
    assert [line for line in traced if "/portal/server/" in line] == []
    return found


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    return answers_without("", tmp_path_factory.mktemp("complete"))


def test_a_complete_session_answers_for_each_feature(complete: dict[str, int]) -> None:
    assert ROUTES.keys() | WITHOUT_ROUTES == set(NAMES)
    assert [name for name, status in complete.items() if status == 404] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_session_without_a_feature_has_all_others(
    name: str, complete: dict[str, int], tmp_path: Path
) -> None:
    gone = {name: 404} if name in ROUTES else {}

    assert answers_without(name, tmp_path) == complete | gone
