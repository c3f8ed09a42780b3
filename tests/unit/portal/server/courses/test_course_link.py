"""What links to courses may name."""

from dataclasses import asdict

import pytest

from dsportal.slurm.errors import OptionsError
from portal.server.courses.course_link import read_link

HOSTS = ("git.example.org", "git.example.org:8443")
REPO = "https://git.example.org/group/course.git"


def opened(**query: str) -> str:
    return read_link({"repo": REPO, **query}, HOSTS).opened


def test_a_course_goes_into_a_folder_of_its_own_name() -> None:
    course = read_link({"repo": REPO}, HOSTS)

    assert asdict(course) == {
        "repository": REPO,
        "branch": "",
        "folder": "course",
        "opened": "lab/tree/course",
    }


def test_a_link_may_name_branch_folder_and_file() -> None:
    query = {"branch": "term/2026", "targetpath": "work/ml", "subpath": "one/first steps.ipynb"}

    course = read_link({"repo": REPO, **query}, HOSTS)

    assert (course.branch, str(course.folder)) == ("term/2026", "work/ml")
    assert course.opened == "lab/tree/work/ml/one/first%20steps.ipynb"


@pytest.mark.parametrize("name", ["urlpath", "urlPath"])
def test_a_link_of_nbgitpuller_opens_its_page(name: str) -> None:
    assert opened(**{name: "notebooks/course/a.ipynb?x=1"}) == "notebooks/course/a.ipynb"


@pytest.mark.parametrize(
    "repo",
    [
        *("", "git.example.org/a/b", "http://git.example.org/a/b", "file:///etc", "ssh://x/y"),
        *("https://evil.example.org/a", "https://git.example.org.evil.org/a", "ext::sh -c id"),
        *("https://ada:secret@git.example.org/a", "https://git.example.org:1/a"),
        *("https://git.example.org/", "https://git.example.org/../a", "https://[::1/a"),
        *("https://git.example.org/a?b=c", "https://git.example.org/a#b", "--upload-pack=id"),
        *("https://git.example.org/-x", "https://git.example.org/a\n", "x" * 2000),
    ],
)
def test_a_repository_elsewhere_is_refused(repo: str) -> None:
    with pytest.raises(OptionsError):
        read_link({"repo": repo}, HOSTS)


def test_the_refusal_of_a_host_names_those_that_are_allowed() -> None:
    with pytest.raises(OptionsError, match=r"'evil\.org' was asked for.*git\.example\.org, "):
        read_link({"repo": "https://evil.org/a"}, HOSTS)


def test_the_usual_port_may_be_written() -> None:
    repo = "https://git.example.org:443/a/b"

    assert read_link({"repo": repo}, HOSTS).repository == "https://git.example.org/a/b"


@pytest.mark.parametrize("branch", ["-b", "--exec=id", "a..b", "a b", "a/", "/a", "a.lock", "a/-b"])
def test_what_is_no_branch_is_refused(branch: str) -> None:
    with pytest.raises(OptionsError, match="no name of a branch"):
        read_link({"repo": REPO, "branch": branch}, HOSTS)


@pytest.mark.parametrize(
    "folder", ["/etc", "..", "../ada", "work/../..", ".ssh", "work/.config", "-x", "a//b", "~"]
)
def test_a_hidden_folder_or_one_elsewhere_is_refused(folder: str) -> None:
    with pytest.raises(OptionsError, match="goes into a folder of your home"):
        read_link({"repo": REPO, "targetpath": folder}, HOSTS)


@pytest.mark.parametrize(
    "page", ["../../hub/logout", "lab/../../x", "portal/api/session", "//evil.org", "lab\\x", "/"]
)
def test_a_page_elsewhere_is_refused(page: str) -> None:
    with pytest.raises(OptionsError, match="A link opens a page"):
        opened(urlpath=page)
