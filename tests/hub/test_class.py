"""A class: the link that leaves nothing to choose, and the page of its teachers."""

import re

import pytest

from tests.hub.private_hub import Browser, PrivateHub
from tests.hub.test_form import log_in
from tests.hub.test_pages import words
from tests.support.eventually import eventually

LINK = "/hub/spawn?gpus=2&hours=3&fixed=1&next=%2Fhub%2Fuser-redirect%2Fgit-pull%3Frepo%3Dx"


def sent(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)">', page))


def test_a_link_of_a_class_leaves_one_button(hub: PrivateHub) -> None:
    browser = log_in(hub, "linus")

    page = browser.get(LINK)

    assert "starts a session with 2 simulated GPUs for 3 hours" in words(page)
    assert 'type="radio"' not in page.text
    assert {"gpus": "2", "hours": "3"}.items() <= sent(page.text).items()
    (action,) = re.findall(r'<form id="spawn_form" action="([^"]*)"', page.text)
    assert "next=%2Fhub%2Fuser-redirect%2Fgit-pull" in action


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("gpus=2&reservation=lesson", "The link asks for Reservation lesson"),
        ("gpus=8", "The link asks for GPUs 8"),
        ("gpus=many", "which is not a number of GPUs"),
    ],
)
def test_what_cannot_be_had_is_said_above_the_whole_form(
    hub: PrivateHub, options: str, problem: str
) -> None:
    page = log_in(hub).get(f"/hub/spawn?fixed=1&{options}")

    assert problem in words(page)
    assert 'type="radio"' in page.text


def led_to(browser: Browser) -> str:
    """Return where the link of a class leads somebody who has a session."""
    answer = browser.http.get(browser.hub.url + LINK, allow_redirects=False, timeout=30)
    return answer.headers.get("Location", "")


def test_teachers_see_the_sessions_of_their_class_and_others_do_not(hub: PrivateHub) -> None:
    teacher, ada = log_in(hub, "linus"), log_in(hub, "ada")
    hub.set_cluster(step=1)
    ada.choose("ada", gpus="1")

    def row(browser: Browser) -> str:
        text = words(browser.get("/hub/class/course"))
        return text.partition(" ada ")[2].partition(" linus ")[0]

    try:
        eventually(lambda: row(teacher).startswith(("Waiting", "Starting")), timeout_s=20)
        hub.set_cluster(step=99)
        eventually(lambda: "node01" in row(log_in(hub, "margaret")), timeout_s=20)
        # Who has a session is led to the repository at once.
        eventually(lambda: led_to(ada).endswith("/hub/user-redirect/git-pull?repo=x"), timeout_s=20)
    finally:
        hub.set_cluster(step=99)
        ada.stop("ada")
    assert 'href="/hub/class/course"' in teacher.get("/hub/home").text
    assert 'href="/hub/class/course"' not in ada.get("/hub/home").text
    assert ada.get("/hub/class/course").status_code == 404
    assert teacher.get("/hub/class/none").status_code == 404
