"""The pages in Chromium: on a phone, with the keyboard alone, in the dark, and during a start."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.hub.private_hub import PrivateHub, node_line
from tests.hub.private_slapd import PASSWORD

PHONE = {"width": 360, "height": 740}


@pytest.fixture
def page(chromium: Browser, hub: PrivateHub) -> Iterator[Page]:
    """Yield a tab of a phone in which ada is logged in and has no session."""
    context = chromium.new_context(viewport=PHONE, base_url=hub.url)
    context.set_default_timeout(15_000)
    page = context.new_page()
    log_in(page)
    yield page
    hub.set_cluster(step=99)
    page.goto("/hub/home")
    if page.locator("#stop").count():
        page.locator("#stop").click()
        expect(page.locator("#session-state")).to_have_text("Not running", timeout=10_000)
    context.close()


def log_in(page: Page, name: str = "ada") -> None:
    page.goto("/hub/login")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile("/hub/home"))


def sign_out(page: Page) -> None:
    """On a screen that is wide enough to show the user's menu."""
    page.set_viewport_size({"width": 1280, "height": 860})
    page.goto("/hub/home")
    page.get_by_text("Menu of ada").click()
    page.get_by_role("link", name="Sign out").click()


def start(page: Page) -> None:
    page.goto("/hub/spawn/ada")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile("/hub/spawn-pending/ada|/user/ada"))


@pytest.mark.parametrize(
    "path",
    ["/hub/home", "/hub/cluster", "/hub/spawn/ada", "/hub/nothing-here", "/hub/token", "/hub/help"],
)
def test_no_page_is_wider_than_a_phone(page: Page, path: str) -> None:
    page.goto(path)

    assert width_of(page) <= PHONE["width"]


def width_of(page: Page) -> int:
    return int(page.locator("html").evaluate("element => element.scrollWidth"))


@pytest.mark.parametrize("width", [1280, 768])
@pytest.mark.parametrize("n_gpus", [3, 4, 5, 8])
def test_choices_of_the_form_hold_their_words_and_none_stands_alone_in_its_row(
    page: Page, hub: PrivateHub, n_gpus: int, width: int
) -> None:
    hub.set_cluster(sinfo=node_line("node01", n_gpus=n_gpus))
    page.set_viewport_size({"width": width, "height": 860})
    page.goto("/hub/spawn/ada")

    cards = page.locator(".portal-choice").evaluate_all(
        "cards => cards.map(card => [card.offsetTop, card.scrollWidth - card.clientWidth])"
    )

    assert len(cards) == n_gpus + 1, "that without a GPU is the first"
    assert min(Counter(top for top, _ in cards).values()) > 1
    assert max(beyond for _, beyond in cards) == 0
    assert width_of(page) <= width


def test_no_page_of_a_start_is_wider_than_a_phone(page: Page, hub: PrivateHub) -> None:
    hub.set_cluster(step=1)
    start(page)
    page.get_by_text("Log", exact=True).click()
    expect(page.locator("#waiting-log li")).not_to_have_count(0)
    assert width_of(page) <= PHONE["width"]

    hub.set_cluster(failure="The node node01 failed. Start again; Slurm takes another node.")

    expect(page.locator("h1")).to_have_text("Your session did not start")
    assert width_of(page) <= PHONE["width"]


def test_nobody_is_asked_about_notifications_unasked(page: Page, hub: PrivateHub) -> None:
    hub.set_cluster(step=1)
    page.add_init_script(
        """
        window.asked = 0;
        window.Notification = class {
            static permission = "default";
            static async requestPermission() {
                window.asked += 1;
                return (this.permission = "granted");
            }
        };
        """
    )
    start(page)
    button = page.get_by_role("button", name="Tell me when it starts")
    expect(button).to_be_visible()
    assert page.evaluate("window.asked") == 0

    button.click()

    expect(button).to_be_hidden()
    expect(page.get_by_role("status")).to_contain_text("Your browser tells you")
    assert page.evaluate("window.asked") == 1


def test_a_search_leads_to_the_part_of_a_guide_that_has_the_words(page: Page) -> None:
    page.goto("/hub/help")
    search = page.get_by_label("Search the guide")
    search.fill("overtake queue")

    page.get_by_role("link", name="Start a session: While it waits").click()

    expect(page.get_by_role("heading", name="While it waits")).to_be_in_viewport()
    search.fill("gibberishword")
    expect(page.get_by_text("No page has all these words.")).to_be_visible()
    search.fill("")
    expect(page.get_by_role("link", name="TensorBoard").first).to_be_visible()


def test_a_day_is_in_the_words_of_the_page_whatever_the_language_of_the_browser(
    chromium: Browser, hub: PrivateHub
) -> None:
    context = chromium.new_context(base_url=hub.url, locale="de-DE", timezone_id="Europe/Berlin")
    page = context.new_page()
    page.clock.set_fixed_time("2026-11-20T12:00:00Z")
    page.goto("/hub/login")

    words = page.evaluate(
        "import('/hub/portal/static/moments.js').then(it => it.timeElement(1795660620).innerText)"
    )

    assert words == "Thu 26 Nov, 03:37"
    context.close()


def test_limits_that_are_read_late_appear_on_the_form_without_a_reload(
    page: Page, hub: PrivateHub
) -> None:
    hub.set_cluster(max_gpus=2, accounting_is_slow=True)
    page.goto("/hub/spawn/ada")
    note = page.get_by_text("Your limits are still being read")
    expect(note).to_be_visible()
    expect(page.locator("input[name=gpus]:disabled")).to_have_count(0)

    hub.set_cluster(accounting_is_slow=False)

    expect(page.locator("input[name=gpus]:disabled")).to_have_count(2)
    expect(page.get_by_text("The limit of the account research").first).to_be_visible()
    expect(page.locator("[data-gpus='3'] [data-start]")).to_have_text("not available to you")
    expect(note).to_be_hidden()


def test_a_reload_after_a_refused_start_starts_nothing(page: Page, hub: PrivateHub) -> None:
    hub.set_cluster(step=1, failure="The node node01 failed. Start again; Slurm takes another.")
    page.goto("/hub/spawn/ada")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".portal-problem")).to_contain_text("The node node01 failed.")
    hub.set_cluster(failure="")
    # The page's script has run: before, a browser asks whether to send the form again.
    expect(page).not_to_have_url(re.compile("_xsrf"))

    page.reload()

    expect(page.locator(".portal-problem")).to_contain_text("The node node01 failed.")
    page.goto("/hub/home")
    expect(page.locator("#session-state")).to_have_text("Not running")


def test_a_second_start_leaves_no_token_in_the_address_of_its_error(
    page: Page, hub: PrivateHub
) -> None:
    hub.set_cluster(step=0)
    page.goto("/hub/spawn/ada")
    other = page.context.new_page()
    start(other)

    page.get_by_role("button", name="Start").click()

    expect(page.get_by_text("The session is already starting")).to_be_visible()
    expect(page).not_to_have_url(re.compile("_xsrf"))
    page.reload()
    expect(page.get_by_role("heading", name="That did not work")).to_be_hidden()
    other.close()


def test_the_page_follows_the_start_and_opens_the_server(page: Page, hub: PrivateHub) -> None:
    hub.set_cluster(step=0)
    start(page)
    steps = page.locator(".portal-step")
    expect(steps.nth(0)).to_have_attribute("data-state", "now")
    expect(steps.nth(0)).to_contain_text("Job 4711 was submitted")

    hub.set_cluster(step=2)
    expect(steps.nth(1)).to_have_attribute("data-state", "done")
    expect(steps.nth(2)).to_contain_text("running on node01")
    expect(page).to_have_title(re.compile("^Running on a node"))

    hub.set_cluster(step=99)
    page.wait_for_url(re.compile("/user/ada"))


def test_coming_back_to_the_waiting_page_shows_all_steps_again(page: Page, hub: PrivateHub) -> None:
    hub.set_cluster(step=2)
    start(page)
    expect(page.locator(".portal-step").nth(2)).to_have_attribute("data-state", "now")

    page.goto("/hub/home")
    page.goto("/hub/spawn-pending/ada")

    page.get_by_text("Log", exact=True).click()
    log = page.locator("#waiting-log li")
    expect(log.filter(has_text="Job 4711 was submitted")).to_have_count(1)
    expect(log.filter(has_text="All GPUs of this size are taken")).to_have_count(1)


def test_the_back_button_leads_to_no_second_start(page: Page, hub: PrivateHub) -> None:
    hub.set_cluster(step=1)
    start(page)
    expect(page.get_by_text("All GPUs of this size are taken").first).to_be_visible()

    page.go_back()

    expect(page).to_have_url(re.compile("/hub/spawn-pending/ada$"))
    expect(page.get_by_role("heading", name="Your session is starting")).to_be_visible()


def test_stop_my_server_stops_it_and_shows_so(page: Page, hub: PrivateHub) -> None:
    start(page)
    page.wait_for_url(re.compile("/user/ada"))
    page.goto("/hub/home")
    expect(page.locator("#session-state")).to_have_text("Running")
    hub.set_cluster(stop_s=2)

    page.get_by_role("button", name="Stop My Server").click(no_wait_after=True)

    expect(page.locator("#session-state")).to_have_class("portal-state portal-state-wait")
    expect(page.locator("#live")).to_contain_text("The job leaves the cluster in a few seconds.")
    expect(page.get_by_role("link", name="My Server")).to_have_count(0)
    expect(page.locator("#session-state")).to_have_text("Not running", timeout=10_000)


def test_a_stop_after_a_logout_in_another_tab_asks_for_the_login_and_works_after_it(
    page: Page,
) -> None:
    start(page)
    page.wait_for_url(re.compile("/user/ada"))
    page.goto("/hub/home")
    other = page.context.new_page()
    other.goto("/hub/logout")

    page.get_by_role("button", name="Stop My Server").click()

    notice = page.get_by_role("alert").filter(has_text="You are signed out.")
    expect(notice.get_by_role("link", name="Sign in again")).to_have_attribute(
        "href", "/hub/login?next=%2Fhub%2Fhome"
    )
    expect(page.locator("#session-state")).to_have_text("Running")

    log_in(other)
    page.get_by_role("button", name="Stop My Server").click()
    expect(page.locator("#session-state")).to_have_text("Not running", timeout=10_000)


def test_the_users_menu_is_on_every_page_and_opens_and_closes_with_the_keyboard(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    page.goto("/hub/nothing-here")
    tokens = page.get_by_role("link", name="Tokens")
    page.get_by_text("Menu of ada").focus()

    page.keyboard.press("Enter")
    expect(tokens).to_be_visible()
    page.keyboard.press("Escape")

    expect(tokens).to_be_hidden()


def test_the_password_can_be_looked_at_before_it_is_sent(
    chromium: Browser, hub: PrivateHub
) -> None:
    context = chromium.new_context(viewport=PHONE, base_url=hub.url)
    page = context.new_page()
    page.goto("/hub/login")
    password = page.get_by_label("Password")
    password.fill(PASSWORD)
    expect(password).to_have_attribute("type", "password")

    page.get_by_role("button", name="Show the password").click()

    expect(password).to_have_attribute("type", "text")
    expect(password).to_be_focused()
    page.get_by_role("button", name="Hide the password").click()
    expect(password).to_have_attribute("type", "password")
    context.close()


def test_signing_out_without_a_session_asks_nothing(page: Page) -> None:
    sign_out(page)

    page.wait_for_url(re.compile("/hub/login"))
    # Whoever sits down at the machine next goes back.
    page.go_back()
    expect(page.get_by_label("Password")).to_be_visible()
    expect(page.locator("#session-state")).to_have_count(0)
    log_in(page)


@pytest.mark.parametrize(
    ("choice", "state"),
    [("Sign out and keep them", "Running"), ("Stop them and sign out", "Not running")],
)
def test_signing_out_says_what_keeps_running_and_offers_to_stop_it(
    page: Page, choice: str, state: str
) -> None:
    start(page)
    page.wait_for_url(re.compile("/user/ada"))
    sign_out(page)
    expect(page.locator(".portal-lead")).to_contain_text("remain after you have signed out")
    expect(page.locator(".portal-facts")).to_contain_text("GPUs")

    page.get_by_text(choice).click()

    page.wait_for_url(re.compile("/hub/login"))
    # Whoever sits down at the machine next goes back.
    page.go_back()
    expect(page.get_by_label("Password")).to_be_visible()
    expect(page.locator(".portal-facts")).to_have_count(0)
    log_in(page)
    expect(page.locator("#session-state")).to_have_text(state)


def test_signing_out_while_a_session_waits_says_so_and_offers_to_cancel_it(
    page: Page, hub: PrivateHub
) -> None:
    hub.set_cluster(step=1)
    start(page)
    expect(page.locator(".portal-step").nth(1)).to_have_attribute("data-state", "now")
    sign_out(page)
    expect(page.locator(".portal-lead")).to_contain_text("keeps its place in the queue")

    page.get_by_role("button", name="Stop them and sign out").click()

    page.wait_for_url(re.compile("/hub/login"))
    log_in(page)
    expect(page.locator("#session-state")).to_have_text("Not running")


def test_the_form_says_that_its_user_is_signed_out(page: Page) -> None:
    page.goto("/hub/spawn/ada")
    expect(page.locator("input[name=gpus]").first).to_be_visible()
    other = page.context.new_page()
    other.goto("/hub/logout")

    page.locator("input[name=gpus]").first.focus()
    page.evaluate("document.getElementById('spawn_form').dispatchEvent(new Event('change'))")

    expect(page.get_by_role("alert")).to_contain_text("You are signed out.")


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_pages_follow_the_colours_of_the_system(
    chromium: Browser, hub: PrivateHub, scheme: str, is_dark: bool
) -> None:
    context = chromium.new_context(color_scheme=scheme, base_url=hub.url)
    page = context.new_page()
    page.goto("/hub/login")

    ground = page.locator("body").evaluate("element => getComputedStyle(element).backgroundColor")
    brightness = sum(int(part) for part in re.findall(r"\d+", ground)[:3]) / 3
    context.close()

    assert (brightness < 128) is is_dark
