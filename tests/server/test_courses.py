"""Links to courses: nothing is fetched before the user has seen and confirmed it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
import requests

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, Page, expect  # noqa: E402

from tests.support.chromium import log_in, picture  # noqa: E402
from tests.support.git_server import GitServer  # noqa: E402
from tests.support.notebook_server import NotebookServer, start_jupyterlab  # noqa: E402


@pytest.fixture(scope="module")
def git_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    server = GitServer(tmp_path_factory.mktemp("git"), is_open=True, has_tls=True)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path, git_server: GitServer
) -> Iterator[NotebookServer]:
    hosts = [urlsplit(git_server.url).netloc]
    environ = {
        "PORTAL_SETTINGS": json.dumps({"git": {"enabled": True, "course_hosts": hosts}}),
        "GIT_SSL_CAINFO": str(git_server.certificate),
    }
    folder = tmp_path_factory.mktemp("courses")
    server = start_jupyterlab(folder, tensorboard_python, environ)
    yield server
    server.stop()


@pytest.fixture
def page(browser: Browser, server: NotebookServer) -> Iterator[Page]:
    context = log_in(browser, server)
    yield context.pages[0]
    context.close()


def ask(
    server: NotebookServer, git_server: GitServer, method: str = "POST", **query: str
) -> requests.Response:
    url = f"{server.host}/user/ada/portal/api/courses"
    link = {"repo": git_server.url, **query}
    return server.http.request(method, url, params=link, timeout=120)


def test_a_course_is_shown_confirmed_copied_and_opened(
    page: Page, server: NotebookServer, git_server: GitServer
) -> None:
    link = urlencode({"repo": git_server.url, "branch": "main", "urlpath": "lab/tree/course"})

    page.goto(f"{server.host}/user/ada/git-pull?{link}")

    expect(page.get_by_text(git_server.url)).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="main")).to_be_visible()
    picture(page, "course")
    assert not (server.root / "course").exists(), "a link alone copies nothing"

    page.get_by_role("button", name="Copy and open").click()

    page.wait_for_url(re.compile("/user/ada/lab/tree/course"))
    assert (server.root / "course" / "lesson.txt").read_text() == "first\n"


def test_the_same_link_brings_a_course_up_to_date_and_keeps_changes(
    server: NotebookServer, git_server: GitServer
) -> None:
    first = ask(server, git_server, targetpath="work/again")
    assert first.ok, first.text
    folder = server.root / "work" / "again"
    (folder / "lesson.txt").write_text("mine\n")
    git_server.publish("more.txt", "second\n")

    answer = ask(server, git_server, targetpath="work/again")

    assert answer.json() == {"url": "/user/ada/lab/tree/work/again"}
    assert (folder / "more.txt").read_text() == "second\n"
    assert (folder / "lesson.txt").read_text() == "mine\n"


def test_a_page_of_somebody_else_copies_nothing(
    page: Page, server: NotebookServer, git_server: GitServer
) -> None:
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    url = f"{server.host}/user/ada/portal/api/courses"
    link = {"repo": git_server.url, "targetpath": "forged"}

    answer = requests.post(url, params=link, cookies=cookies, timeout=30)

    assert answer.status_code == 403
    assert not (server.root / "forged").exists()


def test_another_host_is_refused_on_the_page(page: Page, server: NotebookServer) -> None:
    page.goto(f"{server.host}/user/ada/git-pull?repo=https://elsewhere.example.org/x")

    expect(page.get_by_text("A course from 'elsewhere.example.org' was asked for.")).to_be_visible()
    expect(page.get_by_role("heading")).to_have_text(["This course cannot be opened"])
    expect(page.get_by_role("button")).to_have_count(0)
    page.get_by_role("link", name="Go to JupyterLab").click()
    page.wait_for_url(f"{server.host}/user/ada/lab**")


def test_a_folder_with_something_else_stays_as_it_is(
    server: NotebookServer, git_server: GitServer
) -> None:
    (server.root / "thesis").mkdir()
    (server.root / "thesis" / "lesson.txt").write_text("mine\n")

    answer = ask(server, git_server, targetpath="thesis")

    assert answer.status_code == 400
    assert "holds something other" in answer.json()["message"]
    assert [path.name for path in (server.root / "thesis").iterdir()] == ["lesson.txt"]


def test_a_link_in_the_home_leads_no_course_out_of_it(
    server: NotebookServer, git_server: GitServer, tmp_path: Path
) -> None:
    (server.root / "isilon").symlink_to(tmp_path)

    answer = ask(server, git_server, targetpath="isilon/course")

    assert answer.status_code == 400
    assert "is a link or a file" in answer.json()["message"].replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


def test_a_branch_that_is_not_there_is_an_error(
    server: NotebookServer, git_server: GitServer
) -> None:
    answer = ask(server, git_server, branch="other", targetpath="other")

    assert answer.status_code == 400
    assert "could not be fetched" in answer.json()["message"]


def test_a_link_is_made_on_the_page(
    page: Page, server: NotebookServer, git_server: GitServer
) -> None:
    page.goto(f"{server.host}/user/ada/git-pull")

    page.get_by_label("Repository").fill(git_server.url)
    page.get_by_label("File to open").fill("lesson.txt")
    page.get_by_role("button", name="Make the link").click()

    made = urlencode({"repo": git_server.url, "subpath": "lesson.txt"})
    expect(page.get_by_role("link", name="/hub/user-redirect/git-pull")).to_have_attribute(
        "href", f"{server.host}/hub/user-redirect/git-pull?{made}"
    )
    picture(page, "course-link")
