"""axe-core on every page of the hub, in light and dark."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import expect_accessible, violations
from tests.hub.private_hub import PrivateHub, node_line
from tests.hub.private_slapd import PASSWORD


@pytest.fixture(scope="module", params=["light", pytest.param("dark", marks=pytest.mark.release)])
def page(
    request: pytest.FixtureRequest, chromium: Browser, private_hub: PrivateHub
) -> Iterator[Page]:
    """Yield a tab in which nobody is logged in."""
    context = chromium.new_context(
        viewport={"width": 1280, "height": 860},
        color_scheme=request.param,
        reduced_motion="reduce",
        base_url=private_hub.url,
    )
    context.set_default_timeout(15_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def grace(page: Page, hub: PrivateHub) -> Iterator[Page]:
    """Yield the tab with the administrator logged in, without a session before and after."""
    page.goto("/hub/home")
    if "/hub/login" in page.url:
        page.get_by_label("Username").fill("grace")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile("/hub/home"))
    yield page
    hub.set_cluster(step=99, failure="")
    page.goto("/hub/home")
    if page.locator("#stop").count():
        page.locator("#stop").click()
        expect(page.locator("#session-state")).to_have_text("Not running", timeout=10_000)


def start(page: Page) -> None:
    page.goto("/hub/spawn/grace")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile("/hub/spawn-pending/grace|/user/grace"))


def test_a_page_that_keeps_people_out_is_found_and_told_in_words(page: Page) -> None:
    page.set_content("<html lang=en><title>x</title><main><h1>x</h1><img src='x.png'></main>")

    (found,) = violations(page)

    assert found.startswith("image-alt: Images must have alternative text")
    assert "<img src=" in found


def test_login_page(page: Page, hub: PrivateHub) -> None:
    page.goto("/hub/login")
    expect_accessible(page)

    page.get_by_label("Username").fill("grace")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect_accessible(page)


@pytest.mark.parametrize(
    ("path", "status"),
    [("/hub/home", 200), ("/hub/token", 200), ("/hub/help", 200), ("/hub/nothing-here", 404)],
)
def test_page(grace: Page, path: str, status: int) -> None:
    answer = grace.goto(path)

    assert answer is not None
    assert answer.status == status
    expect_accessible(grace)


def test_admin_page(grace: Page) -> None:
    grace.goto("/hub/admin")
    expect(grace.locator("#react-admin-hook")).to_contain_text("grace")

    expect_accessible(grace)


def test_form(grace: Page, hub: PrivateHub) -> None:
    grace.goto("/hub/spawn/grace")
    expect_accessible(grace)

    hub.set_cluster(max_gpus=2)
    grace.goto("/hub/spawn/grace")
    expect_accessible(grace)

    grace.goto("/hub/spawn/grace?rescue=1")
    expect_accessible(grace)

    hub.set_cluster(slurm_is_down=True)
    grace.goto("/hub/spawn/grace")
    expect_accessible(grace)


def test_waiting_page_and_the_home_page_meanwhile(grace: Page, hub: PrivateHub) -> None:
    hub.set_cluster(step=1)
    start(grace)
    expect(grace.locator(".portal-step").nth(1)).to_have_attribute("data-state", "now")
    grace.get_by_text("Log", exact=True).click()
    expect_accessible(grace)

    grace.goto("/hub/home")
    expect_accessible(grace)


def test_failure_page_and_the_home_page_after_it(grace: Page, hub: PrivateHub) -> None:
    hub.set_cluster(step=1)
    start(grace)
    hub.set_cluster(failure="The node node01 failed. Start again; Slurm takes another node.")
    expect(grace.locator("h1")).to_have_text("Your session did not start")
    expect_accessible(grace)

    grace.goto("/hub/home")
    expect_accessible(grace)


def test_home_page_of_a_running_session(grace: Page, hub: PrivateHub) -> None:
    hub.set_cluster(past_sessions=[{"days_ago": 1, "hours": 2, "state": "OUT_OF_MEMORY"}])
    start(grace)
    grace.wait_for_url(re.compile("/user/grace"))
    grace.goto("/hub/home")
    expect(grace.locator("#session-state")).to_have_text("Running")

    expect_accessible(grace)


def test_stop_page(grace: Page, hub: PrivateHub) -> None:
    start(grace)
    grace.wait_for_url(re.compile("/user/grace"))
    hub.set_cluster(stop_s=3)
    grace.goto("/hub/home")
    grace.locator("#stop").click(no_wait_after=True)
    expect(grace.locator("#stop")).to_have_text("Stopping…")
    grace.goto("/hub/spawn-pending/grace")
    expect(grace.locator("h1")).to_have_text("Your session is stopping")

    expect_accessible(grace)
    expect(grace.locator("h1")).not_to_have_text("Your session is stopping", timeout=15_000)


def test_page_of_a_session_that_is_not_running(grace: Page) -> None:
    grace.goto("/user/grace/lab")
    expect(grace.locator("h1")).to_have_text("Your session is not running")

    expect_accessible(grace)


def test_page_of_all_sessions_and_the_form_that_stops_one(grace: Page) -> None:
    grace.goto("/hub/administration")
    expect_accessible(grace)
    start(grace)
    grace.wait_for_url(re.compile("/user/grace"))

    grace.goto("/hub/administration")
    expect_accessible(grace)

    grace.get_by_role("link", name="Stop the session of grace").click()
    grace.wait_for_url("**/hub/cluster/stop/grace")
    expect_accessible(grace)


def test_cluster_page_with_jobs_of_ones_own(grace: Page, hub: PrivateHub) -> None:
    running = "31 grace R jupyter 2 2026-11-23T06:37:22 1:57:00 gres/gpu=8 None train"
    waiting = "32 grace PD jupyter 1 2026-11-23T08:37:22 5:00 gres/gpu=3 Resources train"
    hub.set_cluster(
        sinfo=node_line("node01", n_used=4) + node_line("node02", state="down"),
        squeue=f"{running}\n{waiting}\n",
    )
    grace.goto("/hub/cluster")

    expect(grace.locator("#own-jobs tbody tr")).to_have_count(2)
    expect_accessible(grace)
