"""Home page, cluster page and announcements of a real hub, without JavaScript."""

import html
import re
from collections.abc import Iterator

import pytest
import requests

from dsportal.diagnosis import Situation, explain_waiting
from dsportal.diagnosis.messages import JOB
from tests.hub.private_hub import Browser, PrivateHub, node_line
from tests.support.eventually import eventually


def words(page: requests.Response) -> str:
    """Return what a reader sees, without tags and line breaks."""
    text = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>", " ", page.text)
    return " ".join(html.unescape(text).split())


@pytest.fixture
def ada(hub: PrivateHub) -> Iterator[Browser]:
    yield from logged_in(hub, "ada")


@pytest.fixture
def grace(hub: PrivateHub) -> Iterator[Browser]:
    yield from logged_in(hub, "grace")


def logged_in(hub: PrivateHub, name: str) -> Iterator[Browser]:
    browser = Browser(hub)
    browser.log_in(name)
    yield browser
    hub.set_cluster(step=99)
    browser.stop(name)
    eventually(lambda: "Not running" in words(browser.get("/hub/home")), timeout_s=20)


def start(browser: Browser, name: str) -> None:
    browser.choose(name, gpus="2")
    eventually(lambda: "Stop My Server" in words(browser.get("/hub/home")), timeout_s=20)
    eventually(lambda: "Running" in words(browser.get("/hub/home")), timeout_s=20)


def send(browser: Browser, path: str, **fields: str) -> requests.Response:
    """Send a form as a browser does."""
    return browser.http.post(
        f"{browser.hub.url}{path}", data={"_xsrf": browser.xsrf(), **fields}, timeout=30
    )


def test_home_shows_the_gpu_hours_by_day_and_how_the_last_sessions_ended(
    ada: Browser, hub: PrivateHub
) -> None:
    assert "Your last sessions" not in words(ada.get("/hub/home"))

    hub.set_cluster(
        past_sessions=[
            {"days_ago": 1, "hours": 2, "state": "TIMEOUT"},
            {"days_ago": 3, "hours": 1, "state": "OUT_OF_MEMORY"},
        ]
    )

    home = words(ada.get("/hub/home"))
    assert "By day; the highest bar is" in home
    assert "2 GPUs 2 h Time limit reached 2.0 of 8 cores on average" in home
    assert home.index("Time limit reached") < home.index("2 GPUs 1 h Out of memory")


def test_home_is_there_when_nothing_answers(ada: Browser, hub: PrivateHub) -> None:
    hub.set_cluster(accounting_is_down=True, used_percent=None, slurm_is_down=True)

    home = ada.get("/hub/home")

    assert home.status_code == 200
    assert "Slurm's accounting does not answer." in words(home)
    assert "Asking the file servers" in words(home)
    assert "My Server" in words(home)


def test_a_second_session_gets_a_name_and_no_third_is_offered(ada: Browser) -> None:
    form = ada.get("/hub/portal/new-session?name=Long-Run")

    assert form.url.endswith("/hub/spawn/ada/long-run")
    assert 'name="gpus"' in form.text


def test_a_session_with_a_name_is_removed_to_make_room_for_another(ada: Browser) -> None:
    ada.choose("ada/long-run", gpus="1")
    eventually(lambda: "Stop long-run" in words(ada.get("/hub/home")), timeout_s=20)
    assert "Another session" not in words(ada.get("/hub/home"))
    assert send(ada, "/hub/portal/remove-session/long-run").status_code == 400, "it runs"

    send(ada, "/hub/portal/stop/ada/long-run")
    eventually(lambda: "Remove long-run" in words(ada.get("/hub/home")), timeout_s=20)
    home = words(send(ada, "/hub/portal/remove-session/long-run"))

    assert "long-run" not in home
    assert "Another session" in home
    assert send(ada, "/hub/portal/remove-session/long-run").status_code == 404


@pytest.mark.parametrize(
    ("name", "status"),
    [("", 200), ("..%2F..%2Fadmin", 400), ("a%20b", 400), ("%3Cscript%3E", 400), ("a/b", 400)],
)
def test_a_name_that_is_none_leads_to_no_other_place(ada: Browser, name: str, status: int) -> None:
    page = ada.get(f"/hub/portal/new-session?name={name}")

    assert page.url.startswith(f"{ada.hub.url}/hub/")
    assert "<script>" not in page.url
    assert page.status_code == status


def test_every_user_sees_what_is_free_and_nobody_elses_name(
    ada: Browser, grace: Browser, hub: PrivateHub
) -> None:
    hub.set_cluster(sinfo=node_line("node01", n_used=3) + node_line("node02", state="down"))
    start(grace, "grace")

    page = words(ada.get("/hub/cluster"))

    assert "Simulated GPUs and cores" in page
    assert "v100 1 3 4 8" in page
    assert "jupyter 1 of 8 free" in page
    assert "node01 partly used 1 of 4 v100 free" in page
    assert "node02 down 0 of 4 v100 free" in page
    assert "1 running. None is waiting." in page
    assert "grace" not in page


def test_a_user_sees_the_queue_as_numbers_and_only_own_jobs(ada: Browser, hub: PrivateHub) -> None:
    running = "31 grace R jupyter 2 2026-11-23T06:37:22 1:57:00 gres/gpu=8 None train"
    waiting = "32 ada PD jupyter 1 N/A 5:00 gres/gpu=3 Resources train"
    hub.set_cluster(squeue=f"{running}\n{waiting}\n")

    page = words(ada.get("/hub/cluster"))

    why = explain_waiting("Resources", Situation(subject=JOB)).sentence
    assert f"32 waiting {why}" in page
    assert "jupyter 8 of 8 free 1 1 24 hours" in page
    assert "grace" not in page
    assert "31 running" not in page


def test_the_cluster_page_says_when_slurm_does_not_answer(ada: Browser, hub: PrivateHub) -> None:
    hub.set_cluster(slurm_is_down=True)

    page = ada.get("/hub/cluster")

    assert page.status_code == 200
    assert "Slurm does not answer" in words(page)
    assert "None is waiting." in words(page)


def test_an_administrator_sees_who_holds_what_and_stops_it_with_a_message(
    ada: Browser, grace: Browser
) -> None:
    start(ada, "ada")
    assert "ada 2 node01 running" in words(grace.get("/hub/administration"))
    assert "What is not saved is lost" in words(grace.get("/hub/cluster/stop/ada"))

    page = send(grace, "/hub/cluster/stop/ada", message="Maintenance at <b>6</b>, sorry.")

    assert page.url.endswith("/hub/administration")
    home = eventually(
        lambda: page if "Not running" in words(page := ada.get("/hub/home")) else None, timeout_s=20
    )
    message = "Your session was stopped by grace. Maintenance at <b>6</b>, sorry."
    assert message in words(home)
    assert "<b>6</b>" not in home.text
    # The page shows line breaks of messages: one before the text would be an empty line.
    assert 'class="portal-text mb-2">Your session was stopped' in home.text
    assert message not in words(grace.get("/hub/home"))

    assert message not in words(send(ada, "/hub/portal/notices/read"))


def test_only_administrators_have_the_page_of_all_sessions_and_a_link_to_it(
    ada: Browser, grace: Browser
) -> None:
    link = 'href="/hub/administration"'

    assert link in grace.get("/hub/home").text
    assert link not in ada.get("/hub/home").text
    refused = ada.get("/hub/administration")
    assert refused.status_code == 403
    assert "grace" not in words(refused)
    page = words(grace.get("/hub/administration"))
    assert "No session runs or waits." in page
    assert "JupyterHub's own page" in page


def test_asking_for_a_session_that_is_not_there_makes_none(ada: Browser, grace: Browser) -> None:
    for path in ("/hub/cluster/stop/ada/nowhere", "/hub/cluster/stop/linus/nowhere"):
        assert grace.get(path).status_code == 404
    assert send(grace, "/hub/cluster/stop/ada/nowhere", message="x").status_code == 404

    assert "nowhere" not in words(ada.get("/hub/home"))


def test_announcements_stand_on_every_page_and_are_read_again(
    hub: PrivateHub, ada: Browser
) -> None:
    path = hub.cluster_path.with_name("announcements.toml")
    path.write_text('[[announcement]]\ntext = "Down on <i>Friday</i>"\nlevel = "warning"\n')
    text = "Down on <i>Friday</i>"
    eventually(lambda: text in words(Browser(hub).get("/hub/login")), timeout_s=10)

    for address in ("/hub/home", "/hub/cluster", "/hub/spawn/ada", "/hub/token"):
        page = ada.get(address)
        assert text in words(page), address
        assert "<i>Friday" not in page.text

    path.unlink()
    eventually(lambda: text not in words(ada.get("/hub/home")), timeout_s=10)


def test_metrics_of_the_portal_are_on_jupyterhubs_own_page(grace: Browser) -> None:
    token = grace.http.post(
        f"{grace.hub.url}/hub/api/users/grace/tokens",
        json={"expires_in": 60, "scopes": ["read:metrics"]},
        headers={"X-XSRFToken": grace.xsrf()},
        timeout=30,
    ).json()["token"]

    metrics = requests.get(
        f"{grace.hub.url}/hub/metrics", headers={"Authorization": f"token {token}"}, timeout=30
    )

    assert metrics.status_code == 200
    assert "# TYPE dsportal_session_wait_seconds histogram" in metrics.text
    assert requests.get(f"{grace.hub.url}/hub/metrics", timeout=30).status_code == 403
