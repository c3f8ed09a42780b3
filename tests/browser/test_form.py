"""The form on the real cluster: what it says when GPUs are taken, links, and what it remembers."""

import re
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import picture
from tests.support.eventually import eventually
from tests.support.mounts import full_home
from tests.support.portal_client import ADDRESS, PortalClient, demo_password, sessions_of

pytestmark = pytest.mark.cluster

USER, OTHER = "ada", "grace"
PHONE = {"width": 360, "height": 740}
# Each test asks for another length, so that no forecast of an earlier one is given again.
CLOCK = r"about \d\d:\d\d"


@pytest.fixture(scope="module", autouse=True)
def no_session() -> Iterator[None]:
    client = PortalClient(USER)
    client.login()
    client.stop(client.token())
    yield
    client.stop(client.token())


@pytest.fixture(scope="module")
def cookies(chromium: Browser) -> list[dict[str, object]]:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{ADDRESS}/hub/login")
    page.get_by_label("Username").fill(USER)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile("/hub/home"))
    kept = [dict(cookie) for cookie in context.cookies()]
    context.close()
    return kept


@pytest.fixture
def context(
    chromium: Browser, cookies: list[dict[str, object]], request: pytest.FixtureRequest
) -> Iterator[BrowserContext]:
    """Yield a logged-in browser; a test's mark "browser" changes its settings."""
    settings = {"viewport": {"width": 1280, "height": 860}, **getattr(request, "param", {})}
    context = chromium.new_context(base_url=ADDRESS, **settings)
    context.add_cookies(cookies)  # type: ignore[arg-type]
    context.set_default_timeout(15_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture(autouse=True)
def picture_of_the_end(page: Page, request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep what the browser showed at the end of each test, before its context is closed."""
    yield
    picture(page, f"end-{request.node.name.split('[')[0]}")


@pytest.fixture
def taken() -> Iterator[None]:
    """Hold all GPUs of one node for an hour, and half of those of the other."""
    for n_gpus in (4, 2):
        argv = ["sbatch", "--parsable", "-J", "filler", "-N1", f"--gpus-per-node={n_gpus}"]
        subprocess.run(
            ["sudo", "-u", OTHER, *argv, "-t60", "-o/dev/null", "--wrap=sleep 3600"],
            cwd="/",
            check=True,
            capture_output=True,
            timeout=30,
        )
    eventually(lambda: states("filler") == ["RUNNING", "RUNNING"], timeout_s=30)
    yield
    subprocess.run(["scancel", "--name=filler"], check=True, timeout=30)
    eventually(lambda: not states("filler"), timeout_s=30)


def states(name: str) -> list[str]:
    argv = ["squeue", "-h", f"--name={name}", "-o", "%T"]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()


def start_of(page: Page, n_gpus: int) -> str:
    return page.locator(f"[data-gpus='{n_gpus}'] [data-start]").inner_text()


def open_when_taken(page: Page, address: str) -> None:
    def is_seen() -> bool:
        page.goto(address)
        return "2 of 8" in page.inner_text("main")

    # While somebody keeps asking, what sinfo said is used for half a minute.
    eventually(is_seen, timeout_s=60, every_s=1)


def test_a_full_cluster_is_told_with_the_time_and_what_would_start_now(
    page: Page, taken: None
) -> None:
    open_when_taken(page, "/hub/spawn?gpus=4&hours=4")

    for n_gpus in (1, 2):
        expect(page.locator(f"[data-gpus='{n_gpus}'] [data-start]")).to_have_text("starts now")
    for n_gpus in (3, 4):
        expect(page.locator(f"[data-gpus='{n_gpus}'] [data-start]")).to_have_text(
            re.compile(f"{CLOCK}; 2 GPUs would start now")
        )
    picture(page, "form-taken")


@pytest.mark.parametrize("context", [{"java_script_enabled": False}], indirect=True)
def test_without_javascript_the_form_says_the_same_and_shows_another_choice(
    page: Page, taken: None
) -> None:
    open_when_taken(page, "/hub/spawn?gpus=4&hours=12")
    eventually(lambda: page.goto("/hub/spawn?gpus=4&hours=12") and "about" in start_of(page, 4), 10)

    page.locator("input[name=gpus][value='1']").check()
    page.locator("input[name=hours][value='2']").check(force=True)
    page.get_by_role("button", name="Show when this would start").click()

    expect(page).to_have_url(re.compile("gpus=1"))
    expect(page.locator("input[name=gpus][value='1']")).to_be_checked()
    expect(page.locator("[data-gpus='1'] [data-hours]")).to_have_text("2 hours")
    assert sessions_of(USER) == []


def test_a_link_marks_a_choice_and_starts_nothing(page: Page) -> None:
    page.goto("/hub/spawn?opt-gpus=3&opt-hours=2&opt-account=none-such&nonsense=1")

    expect(page.locator("input[name=gpus][value='3']")).to_be_checked()
    expect(page.locator("input[name=hours][value='2']")).to_be_checked()
    expect(page.locator("#choice-link")).to_have_attribute(
        "href", re.compile(r"/hub/spawn\?gpus=3&hours=2$")
    )
    assert sessions_of(USER) == []


def test_another_length_is_shown_at_once_and_is_in_the_link(page: Page) -> None:
    page.goto("/hub/spawn?gpus=2&hours=4")
    page.locator("input[name=hours][value='24']").check(force=True)

    expect(page.locator("[data-gpus='2'] [data-hours]")).to_have_text("24 hours")
    expect(page.locator("#choice-link")).to_have_attribute("href", re.compile("hours=24"))


def test_with_the_keyboard_alone_a_session_is_chosen_and_started_and_remembered(
    page: Page,
) -> None:
    page.goto("/hub/spawn?gpus=1&hours=4")
    page.locator("input[name=gpus][value='1']").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("input[name=gpus][value='2']")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("input[name=hours][value='2']")).to_be_checked()
    page.keyboard.press("Tab")
    expect(page.locator("input[name=opens]:checked")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Start")).to_be_focused()
    page.keyboard.press("Enter")

    (job,) = eventually(lambda: sessions_of(USER), timeout_s=30)
    expect(page).not_to_have_url(re.compile("gpus="))
    assert (job.n_cpus, job.walltime) == (16, "2:00:00")
    client = PortalClient(USER)
    client.login()
    client.stop(client.token())

    page.goto("/hub/spawn")
    expect(page.locator("input[name=gpus][value='2']")).to_be_checked()
    expect(page.locator("input[name=hours][value='2']")).to_be_checked()


def test_a_full_home_is_told_and_a_rescue_session_makes_room_in_it(page: Page) -> None:
    with full_home(USER):
        page.goto("/hub/spawn?gpus=1")
        page.get_by_role("button", name="Start").click()
        expect(page.locator("main")).to_contain_text("0 MiB")
        picture(page, "form-full-home")
        page.get_by_role("link", name=re.compile("rescue session")).click()
        expect(page.locator("main")).to_contain_text("lasts 1 hour")
        picture(page, "form-rescue")
        page.get_by_role("button", name="Start the rescue session").click()
        page.wait_for_url(re.compile(f"/user/{USER}/lab"), timeout=90_000)

        big = page.locator(".jp-DirListing-item").filter(has_text="big")
        expect(big).to_be_visible(timeout=60_000)
        big.click()
        page.keyboard.press("Delete")
        page.locator(".jp-Dialog").get_by_role("button", name="Delete").click()
        expect(big).to_be_hidden()
        picture(page, "form-rescued")

        client = PortalClient(USER)
        client.login()
        client.stop(client.token())


@pytest.mark.parametrize(
    ("context", "name"),
    [
        ({"viewport": PHONE, "color_scheme": "dark"}, "form-360-dark"),
        ({"viewport": PHONE, "color_scheme": "light"}, "form-360"),
        ({"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"}, "form-dark"),
    ],
    indirect=["context"],
)
def test_the_form_fits_every_width_in_light_and_dark(page: Page, name: str) -> None:
    page.goto("/hub/spawn?gpus=2")

    width = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert width[0] <= width[1]
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    is_dark = sum(map(int, re.findall(r"\d+", ground)[:3])) < 200
    assert is_dark is ("dark" in name)
    picture(page, name)
