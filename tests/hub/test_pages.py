"""The pages of a running hub, as a browser without JavaScript gets them."""

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
import requests

from portal.hub.pages.base import HUB_DIR
from tests.hub.private_hub import Browser, PrivateHub, node_line
from tests.hub.private_slapd import PASSWORD
from tests.support.checkout import PYTHONPATH
from tests.support.eventually import eventually


@pytest.fixture
def ada(hub: PrivateHub) -> Iterator[Browser]:
    """Yield a logged-in user without a session."""
    browser = Browser(hub)
    assert browser.log_in("ada").url.endswith("/hub/home")
    yield browser
    hub.set_cluster(step=99)
    browser.stop("ada")
    eventually(lambda: "Not running" in browser.get("/hub/home").text, timeout_s=10)


def words(page: requests.Response) -> str:
    """Return the text of a page without its scripts."""
    html = re.sub(r"<(script|style|noscript)\b.*?</\1>", " ", page.text, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_login_page_shows_the_site_and_asks_for_name_and_password(hub: PrivateHub) -> None:
    page = requests.get(hub.url, timeout=10)

    assert page.url.startswith(f"{hub.url}/hub/login")
    assert "Sign in" in words(page)
    assert "Data Scientist Portal" in words(page)
    assert "help@example.com" in words(page)
    assert 'autocomplete="current-password"' in page.text


def test_the_guide_can_be_read_before_the_login(hub: PrivateHub) -> None:
    page = requests.get(f"{hub.url}/hub/help", timeout=10)

    assert page.status_code == 200
    assert "Use the portal" in words(page)
    for link in re.findall(r'href="(/hub/help/[\w-]+)"', page.text):
        assert requests.get(hub.url + link, timeout=10).status_code == 200
    start = requests.get(f"{hub.url}/hub/help/start-a-session", timeout=10)
    assert 'id="while-it-waits"' in start.text
    (picture, *_) = re.findall(r'src="(/hub/help/images/[^"]+)"', start.text)
    shown = requests.get(hub.url + picture, timeout=10)
    assert (shown.status_code, shown.headers["Content-Type"]) == (200, "image/png")
    assert "The session waits" in words(requests.get(f"{hub.url}/hub/help/reasons", timeout=10))


@pytest.mark.parametrize("path", ["nothing", "administrators", "images/../users.md", "images/"])
def test_of_the_documentation_only_the_guides_for_users_are_served(
    hub: PrivateHub, path: str
) -> None:
    assert requests.get(f"{hub.url}/hub/help/{path}", timeout=10).status_code in {403, 404}


def test_a_wrong_password_brings_the_login_page_again_with_the_name_kept(hub: PrivateHub) -> None:
    page = Browser(hub).log_in("grace", "wrong")

    assert page.status_code == 403
    assert "Invalid username or password. " in words(page)
    assert 'value="grace"' in page.text
    assert "wrong" not in page.text


@pytest.mark.parametrize("name", ["ada\n", "ada\x1b"])
def test_a_name_with_a_control_character_is_refused_although_the_rest_is_right(
    hub: PrivateHub, name: str
) -> None:
    assert Browser(hub).log_in(name, PASSWORD).status_code == 403


@pytest.mark.parametrize("gpus", ["9", "<b>1</b>", ""])
def test_a_wrong_number_of_gpus_brings_the_form_again_with_a_sentence(
    ada: Browser, gpus: str
) -> None:
    page = ada.choose("ada", gpus=gpus, gpu_type="none-such" if not gpus else "")

    assert page.status_code == 400
    assert "You asked for" in words(page)
    assert "HTTP 400" not in words(page)
    assert "<b>1</b>" not in page.text
    assert 'name="gpus"' in page.text
    assert "Not running" in ada.get("/hub/home").text


def test_slurm_going_down_under_an_open_form_brings_a_sentence(ada: Browser) -> None:
    ada.get("/hub/spawn/ada")
    ada.hub.set_cluster(slurm_is_down=True)

    page = ada.choose("ada", gpus="1")

    assert page.status_code == 503
    assert "Slurm does not answer" in words(page)
    assert "Unhandled error" not in page.text


def test_the_waiting_page_shows_what_was_asked_for_and_every_step(ada: Browser) -> None:
    ada.hub.set_cluster(step=1, sinfo=node_line("node01", n_used=4))

    page = ada.choose("ada", gpus="2")

    assert "/hub/spawn-pending/ada" in page.url
    assert "You asked for 2 simulated GPUs for 8 hours." in words(page)
    steps = ["Submitted", "In the queue", "Running on a node", "Notebook server starting", "Ready"]
    assert [s for s in steps if s in words(page)] == steps
    assert "Cancel" in words(page)
    assert 'http-equiv="refresh"' in page.text, "without JavaScript the page loads itself again"
    assert "Waiting" in words(ada.get("/hub/home"))


def test_the_failure_page_has_the_reason_the_log_and_a_way_to_try_again(ada: Browser) -> None:
    ada.hub.set_cluster(step=1)
    ada.choose("ada", gpus="1")
    ada.hub.set_cluster(failure="The node node01 failed. Start again; Slurm takes another node.")

    text = eventually(lambda: failure_of(ada), timeout_s=10)

    assert "Your session did not start" in text
    assert "The node node01 failed. Start again" in text
    assert "State in Slurm OUT_OF_MEMORY Exit code 3 Node node01 Slurm job 4711" in text
    assert "Killed &lt;process&gt;" in text, "the log is shown as text"
    assert failure_of(ada) == text, "loading the page again changes nothing"
    home = ada.get("/hub/home")
    assert "The node node01 failed." in words(home)
    assert 'href="/hub/spawn-pending/ada"' in home.text


def test_a_failed_start_is_tried_again_with_the_same_choice_without_javascript(
    ada: Browser,
) -> None:
    page = fail(ada, gpus="2", hours="4")
    (form,) = re.findall(r'<form method="post".*?</form>', page.text, flags=re.DOTALL)
    (address,) = re.findall(r'action="([^"]+)"', form)
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
    ada.hub.set_cluster(step=1, failure="")

    again = ada.http.post(f"{ada.hub.url}{html.unescape(address)}", data=fields, timeout=30)

    assert fields == {"gpus": "2", "hours": "4"}
    assert "/hub/spawn-pending/ada" in again.url


def test_the_form_after_a_failed_start_says_why_and_has_the_last_choice(ada: Browser) -> None:
    fail(ada, gpus="2", hours="4")
    ada.hub.set_cluster(failure="")

    first, again = ada.get("/hub/spawn/ada"), ada.get("/hub/spawn")

    for form in (first, again):
        assert form.status_code == 200
        assert "Your last start failed." in words(form)
        assert 'href="/hub/spawn-pending/ada"' in form.text
        assert re.search(r'name="gpus" value="2"\s+checked', form.text)
        assert re.search(r'name="hours" value="4"\s+checked', form.text)
    assert failure_of(ada), "the page of the failed start still has the log"
    assert 'href="/hub/spawn-pending/ada"' in ada.get("/hub/home").text


def test_a_failure_is_forgotten_with_the_next_start(ada: Browser) -> None:
    fail(ada, gpus="2")
    ada.get("/hub/spawn/ada")
    ada.hub.set_cluster(failure="", step=99)

    ada.choose("ada", gpus="1")

    running = eventually(lambda: _with(ada.get("/hub/home"), "node01"), timeout_s=20)
    assert "failed" not in words(running)


def test_a_correction_that_the_advice_names_leads_to_the_form_and_starts_nothing(
    ada: Browser,
) -> None:
    page = fail(ada, gpus="2")
    (link,) = re.findall(r'id="correct"[^>]* href="([^"]+)"', page.text)
    ada.hub.set_cluster(failure="")

    form = ada.get(html.unescape(link))

    assert "Try again with 3 GPUs" in words(page)
    assert re.search(r'name="gpus" value="3"\s+checked', form.text)
    assert "Not running" in words(ada.get("/hub/home"))


def test_a_session_that_ended_by_itself_says_why_and_starts_again_where_the_user_was(
    ada: Browser,
) -> None:
    ada.choose("ada", gpus="2", hours="4")
    eventually(lambda: "Running" in words(ada.get("/hub/home")), timeout_s=10)
    ada.stop("ada")
    eventually(lambda: "Not running" in words(ada.get("/hub/home")), timeout_s=10)
    ada.hub.set_cluster(ending="The session used more memory than it had.")

    home = ada.get("/hub/home")
    page = ada.get("/user/ada/lab/tree/digits.ipynb")

    assert "The session used more memory than it had." in words(home)
    assert page.status_code == 424
    assert "Your session has ended" in words(page)
    assert "State in Slurm OUT_OF_MEMORY Exit code 3 Node node01 Slurm job 4711" in words(page)
    assert "Killed &lt;process&gt;" in page.text, "the log is shown as text"
    (link,) = re.findall(r'id="correct"[^>]* href="([^"]+)"', page.text)
    query = parse_qs(urlsplit(html.unescape(link)).query)
    assert query["gpus"] == ["3"]
    assert query["next"] == ["/hub/user/ada/lab/tree/digits.ipynb"]


def test_a_course_link_asks_for_gpus_first_and_then_leads_to_the_course(ada: Browser) -> None:
    course = "git-pull?repo=https%3A%2F%2Fgithub.com%2Fa%2Fcourse&branch=main"

    form = ada.get(f"/hub/user-redirect/{course}")

    (action,) = re.findall(r'id="spawn_form" action="([^"]+)"', form.text)
    there = f"/user/ada/{course}"
    assert parse_qs(urlsplit(html.unescape(action)).query)["next"] == [there]
    assert "Not running" in words(ada.get("/hub/home"))

    started = ada.http.post(
        urljoin(f"{ada.hub.url}/", html.unescape(action)),
        data={"gpus": "2", "hours": "4"},
        timeout=30,
    )

    eventually(lambda: "Running" in words(ada.get("/hub/home")), timeout_s=10)
    # The page of the start, or where it has led already.
    shown = urlsplit(started.url)
    assert ada.get(f"{shown.path}?{shown.query}").url == f"{ada.hub.url}{there}"


def test_a_session_that_ended_at_its_time_limit_is_not_shown_as_a_problem(ada: Browser) -> None:
    ada.choose("ada", gpus="2", hours="4")
    eventually(lambda: "Running" in words(ada.get("/hub/home")), timeout_s=10)
    ada.stop("ada")
    eventually(lambda: "Not running" in words(ada.get("/hub/home")), timeout_s=10)
    ada.hub.set_cluster(ending="The session reached its time limit.", end_state="TIMEOUT")

    page = ada.get("/user/ada/lab")

    assert "The session reached its time limit." in words(page)
    assert 'role="alert"' not in page.text
    assert "<details" in page.text.partition("<main")[2], "the log is folded"


def fail(browser: Browser, **fields: str) -> requests.Response:
    """Start a session that fails; return its page."""
    browser.hub.set_cluster(step=1)
    browser.choose("ada", **fields)
    browser.hub.set_cluster(failure="The session used more memory than it had.")
    eventually(lambda: failure_of(browser), timeout_s=10)
    return browser.get("/hub/spawn-pending/ada")


def test_a_start_is_cancelled_by_a_form_that_needs_no_javascript(ada: Browser) -> None:
    ada.hub.set_cluster(step=1)
    page = ada.choose("ada", gpus="1")
    (address,) = re.findall(r'<form id="cancel"[^>]* action="([^"]+)"', page.text)

    forged = ada.http.post(f"{ada.hub.url}{address.partition('?')[0]}", timeout=30)
    assert forged.status_code == 403
    assert "Waiting" in words(ada.get("/hub/home"))
    home = ada.http.post(f"{ada.hub.url}{html.unescape(address)}", timeout=30)

    assert home.url.endswith("/hub/home")
    assert "Not running" in words(home)


def test_the_waiting_page_shows_facts_and_log_without_javascript(ada: Browser) -> None:
    fact = {"name": "Expected start", "text": "about {0}", "times": [4102444800.0]}
    ada.hub.set_cluster(step=1, facts=[fact])
    ada.choose("ada", gpus="1")

    page = eventually(lambda: _with(ada.get("/hub/spawn-pending/ada"), "Expected"), timeout_s=10)

    assert re.search(r"Expected start about \w+ \d+ \w+, \d\d:\d\d \w+", words(page))
    assert re.search(r"\d\d:\d\d \w+ Job 4711 was submitted", words(page))


def _with(page: requests.Response, text: str) -> requests.Response | None:
    return page if text in page.text else None


def failure_of(browser: Browser) -> str | None:
    text = words(browser.get("/hub/spawn-pending/ada"))
    return text if "did not start" in text else None


def test_an_unknown_page_says_so_in_words(ada: Browser) -> None:
    page = ada.get("/hub/nothing-here")

    assert page.status_code == 404
    assert "There is no such page" in words(page)
    assert "None" not in words(page)


@pytest.mark.parametrize("path", ["/hub/login", "/hub/home", "/hub/spawn/ada", "/hub/token"])
def test_every_page_says_that_the_gpus_are_simulated_and_forbids_frames(
    ada: Browser, path: str
) -> None:
    page = Browser(ada.hub).get(path) if path == "/hub/login" else ada.get(path)

    assert page.ok
    assert "Simulated GPUs" in words(page)
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["Referrer-Policy"] == "same-origin"


def test_static_files_are_kept_by_browsers_for_as_long_as_they_do_not_change(
    hub: PrivateHub,
) -> None:
    login = requests.get(hub.url, timeout=10)
    (style,) = re.findall(r'href="(/hub/portal/static/portal\.css\?v=\w+)"', login.text)

    named = requests.get(hub.url + style, timeout=10)
    bare = requests.get(hub.url + style.partition("?")[0], timeout=10)

    assert named.ok
    assert "max-age=" in named.headers["Cache-Control"]
    assert bare.headers["Cache-Control"] == "no-cache"
    assert named.headers["Content-Type"] == "text/css"


@pytest.mark.parametrize(
    ("path", "status"),
    [("../apply.py", 404), ("%2e%2e/apply.py", 404), ("..%2fsettings.py", 403)],
)
def test_no_other_file_can_be_fetched(hub: PrivateHub, path: str, status: int) -> None:
    request = requests.Request("GET", hub.url).prepare()
    request.url = f"{hub.url}/hub/portal/static/{path}"

    assert requests.Session().send(request, timeout=10).status_code == status


def test_a_wrong_settings_file_stops_the_hub_with_one_sentence(tmp_path: Path) -> None:
    settings = tmp_path / "portal.toml"
    settings.write_text("[hub]\nadress = '127.0.0.1'\n")

    ended = subprocess.run(
        [sys.executable, "-m", "jupyterhub", "-f", HUB_DIR / "jupyterhub_config.py"],
        env={"PORTAL_TOML": str(settings), "PATH": "/usr/bin:/bin", "PYTHONPATH": PYTHONPATH},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode != 0
    assert "Unknown key 'adress'" in ended.stderr
    assert "Traceback" not in ended.stderr
