"""Home page and cluster page on the real cluster, in the order of these tests."""

import re
import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import expect_accessible
from tests.browser.conftest import picture, pictures
from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient, demo_password, sessions_of

pytestmark = pytest.mark.cluster

CHECKOUT = Path(__file__).parents[2]
ETC = Path("/etc/data-scientist-portal")
QUOTA_PROGRAM = ETC / "quota"
START_TIMEOUT_S = 60
PHONE_WIDTH = 360
FILLER = "#!/bin/sh\nsleep 600\n"


@pytest.fixture(scope="module", autouse=True)
def nearly_full_homes() -> Iterator[None]:
    """A quota program of the site, and a hub that has asked nobody yet."""
    QUOTA_PROGRAM.write_text(
        '#!/bin/sh\ncase "$1" in */ada) echo 102005473280 107374182400;; esac\n'
    )
    QUOTA_PROGRAM.chmod(0o755)
    restart_hub()
    yield
    QUOTA_PROGRAM.unlink()


def restart_hub() -> None:
    for command in ("down", "up"):
        subprocess.run(
            [CHECKOUT / "deploy" / command, "--only", "hub"],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=120,
        )


@pytest.fixture(scope="module")
def clients() -> Iterator[dict[str, tuple[PortalClient, str]]]:
    """Return REST for both users, without sessions before and after."""
    found = {}
    for user in ("ada", "grace"):
        client = PortalClient(user)
        client.login()
        found[user] = (client, client.token())
    stop_all(found)
    yield found
    stop_all(found)


def stop_all(clients: dict[str, tuple[PortalClient, str]]) -> None:
    for client, token in clients.values():
        client.stop(token)


@pytest.fixture
def start(clients: dict[str, tuple[PortalClient, str]]) -> Callable[[str, int], None]:
    def start_session(user: str, n_gpus: int) -> None:
        client, token = clients[user]
        answer = client.rest("POST", f"/users/{user}/server", token, json={"gpus": n_gpus})
        assert answer.status_code in {201, 202}, answer.text

    return start_session


def wait_until_ready(clients: dict[str, tuple[PortalClient, str]], user: str) -> None:
    client, token = clients[user]
    eventually(lambda: client.server(token).get("ready"), timeout_s=START_TIMEOUT_S)


@pytest.fixture(scope="module")
def ada(chromium: Browser) -> Iterator[Page]:
    yield from logged_in(chromium, "ada")


@pytest.fixture(scope="module")
def grace(chromium: Browser) -> Iterator[Page]:
    yield from logged_in(chromium, "grace")


def logged_in(chromium: Browser, user: str, **options: bool) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, **options)
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.goto(f"{ADDRESS}/hub/login")
    page.get_by_label("Username").fill(user)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile("/hub/home"))
    yield page
    context.close()


def expect_no_wider_than_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": PHONE_WIDTH, "height": 740})
    assert page.locator("html").evaluate("element => element.scrollWidth") <= PHONE_WIDTH
    page.set_viewport_size({"width": 1280, "height": 900})


def test_1_home_shows_the_running_session_and_its_time_left(
    ada: Page, start: Callable[[str, int], None], clients: dict[str, tuple[PortalClient, str]]
) -> None:
    start("ada", 2)
    wait_until_ready(clients, "ada")

    ada.goto(f"{ADDRESS}/hub/home")

    facts = ada.locator(".portal-facts").first
    expect(facts).to_contain_text(re.compile(r"GPUs\s*2\s*simulated"))
    expect(facts).to_contain_text(re.compile(r"node0[12]"))
    expect(ada.locator("[data-left-s]")).to_have_text(re.compile("7 h 5[0-9] min"))
    expect_accessible(ada)
    expect_no_wider_than_a_phone(ada)
    picture(ada, "home-running")


def test_2_time_left_counts_down_without_asking_the_hub(ada: Page) -> None:
    ada.clock.install()
    ada.goto(f"{ADDRESS}/hub/home")
    ada.route("**/hub/home", lambda route: route.abort())

    ada.clock.fast_forward("01:00:00")

    expect(ada.locator("[data-left-s]")).to_have_text(re.compile("6 h 5[0-9] min"))
    ada.unroute("**/hub/home")


def test_3_home_warns_that_the_quota_is_nearly_used_up(ada: Page) -> None:
    storage = ada.get_by_role("region", name="Your storage")

    expect(storage).to_contain_text("5.0 GB free of your quota of 100 GB", timeout=15_000)
    expect(storage.get_by_role("alert")).to_contain_text("Home folder is nearly full")
    picture(ada, "home-storage-warning")


def test_4_every_user_sees_what_is_free(ada: Page) -> None:
    ada.goto(f"{ADDRESS}/hub/home")
    ada.get_by_role("link", name="Cluster").click()

    row = ada.get_by_role("row", name=re.compile("^v100"))
    expect(row.get_by_role("cell").nth(0)).to_have_text("6")
    expect(row.get_by_role("cell").nth(1)).to_have_text("2")
    expect(ada.get_by_role("heading", name="Simulated GPUs and cores")).to_be_visible()
    job = ada.locator("#own-jobs tbody tr")
    expect(job).to_have_count(1, timeout=30_000)
    expect(job).to_contain_text(re.compile(r"session\s*running\s*2 GPUs"))
    expect(ada.locator("#nodes")).to_contain_text("2 of 4 v100 free")
    expect_accessible(ada)
    expect_no_wider_than_a_phone(ada)
    pictures(ada, "cluster")


def test_5_the_page_of_all_sessions_follows_the_cluster_by_itself(
    grace: Page, start: Callable[[str, int], None], clients: dict[str, tuple[PortalClient, str]]
) -> None:
    grace.goto(f"{ADDRESS}/hub/home")
    grace.get_by_role("link", name="Admin", exact=True).click()
    rows = grace.locator("#sessions tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("ada")
    grace.evaluate("window.isTheSamePage = true")

    start("grace", 1)
    wait_until_ready(clients, "grace")

    expect(rows).to_have_count(2, timeout=30_000)
    assert grace.evaluate("window.isTheSamePage"), "the page is not loaded anew"
    expect_accessible(grace)
    expect_no_wider_than_a_phone(grace)
    picture(grace, "administration")


def test_6_an_administrator_stops_a_session_with_a_message(grace: Page, ada: Page) -> None:
    grace.get_by_role("link", name="Stop the session of ada").click()
    expect_accessible(grace)
    grace.get_by_label(re.compile("^Message")).fill("The node needs a repair.")
    grace.get_by_role("button", name="Stop the session").click()
    grace.wait_for_url(re.compile("/hub/administration$"))
    eventually(lambda: sessions_of("ada") == [], timeout_s=10)

    ada.goto(f"{ADDRESS}/hub/home")

    messages = ada.get_by_role("region", name="Messages from the administrators")
    expect(messages).to_contain_text("Your session was stopped by grace. The node needs a repair.")
    expect_accessible(ada)
    picture(ada, "home-message")
    ada.get_by_role("button", name="I have read this").click()
    expect(messages).to_have_count(0)


def accounted_gpu_hours(user: str) -> float:
    """Return a user's GPU hours of this month, by what sacct says of each job."""
    month = f"{datetime.now():%Y-%m-01}"
    argv = ["sacct", "-X", "-n", "-P", "--duplicates", f"--user={user}", f"--starttime={month}"]
    argv += ["--endtime=now", "--format=ElapsedRaw,AllocTRES"]
    said = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=30).stdout
    jobs = re.findall(r"^(\d+)\|.*gres/gpu=(\d+)", said, re.MULTILINE)
    return sum(int(elapsed_s) * int(n_gpus) for elapsed_s, n_gpus in jobs) / 3600


def test_7_the_session_that_ended_counts_in_the_gpu_hours(ada: Page) -> None:
    usage = ada.get_by_role("region", name="Your GPU hours")
    month = re.compile(r"This month\s*(?:less than )?([0-9.,]+) GPU hours")

    expect(usage).to_contain_text(month)
    shown = float(month.search(usage.inner_text())[1].replace(",", ""))

    accounted = accounted_gpu_hours("ada")
    assert accounted > 0
    # Rounded to a tenth, and asked for five minutes ago at most, when 2 GPUs were still held.
    assert accounted - 0.1 <= shown <= accounted + 0.1 + 2 * 5 / 60


def test_8_a_session_is_stopped_with_javascript_switched_off(chromium: Browser) -> None:
    (page,) = [next(pages := logged_in(chromium, "grace", java_script_enabled=False))]
    expect(page.locator("#session-state")).to_have_text("Running")

    page.get_by_role("button", name="Stop My Server").click()

    eventually(lambda: sessions_of("grace") == [], timeout_s=10)
    page.goto(f"{ADDRESS}/hub/home")
    expect(page.locator("#session-state")).to_have_text("Not running")
    pages.close()


@pytest.fixture
def full_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], None]]:
    """Fill all GPUs; yields what frees them again."""

    def cancel() -> None:
        subprocess.run(["scancel", "--name=filler"], check=True, timeout=30)

    for _ in range(2):
        subprocess.run(
            [
                *("runuser", "-u", "ada", "--", "sbatch", "--job-name=filler", "--time=10"),
                *("--gres=gpu:4", "--output=/dev/null", "--chdir=/"),
            ],
            input=FILLER,
            text=True,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=30,
        )
    yield cancel
    cancel()


@pytest.mark.release
def test_9_forecasts_are_compared_with_the_start_that_came(
    grace: Page,
    full_cluster: Callable[[], None],
    start: Callable[[str, int], None],
    clients: dict[str, tuple[PortalClient, str]],
) -> None:
    n_before = n_sessions_with_a_forecast(grace)
    eventually(lambda: free_gpus(grace) == "0", timeout_s=20)
    start("grace", 1)
    eventually(lambda: sessions_of("grace")[0].state == "PENDING", timeout_s=20)
    grace.goto(f"{ADDRESS}/hub/cluster")
    expect(grace.get_by_role("region", name="Sessions", exact=True)).to_contain_text("1 waiting")

    full_cluster()
    wait_until_ready(clients, "grace")

    assert n_sessions_with_a_forecast(grace) == n_before + 1
    picture(grace, "cluster-forecasts")
    restart_hub()
    assert n_sessions_with_a_forecast(grace) == n_before + 1, "a restart of the hub loses none"


def n_sessions_with_a_forecast(page: Page) -> int:
    page.goto(f"{ADDRESS}/hub/cluster")
    text = page.get_by_role("region", name="How good the forecasts are").inner_text()
    found = re.search(r"last (\d+) sessions", text)
    return int(found[1]) if found else int("only session" in text)


def free_gpus(page: Page) -> str:
    page.goto(f"{ADDRESS}/hub/cluster")
    row = page.get_by_role("row", name=re.compile("^v100"))
    return row.get_by_role("cell").nth(0).inner_text()


def test_9_an_administrator_reads_who_held_gpus_in_the_last_weeks(grace: Page, ada: Page) -> None:
    grace.goto(f"{ADDRESS}/hub/administration")
    grace.get_by_role("link", name="GPU hours by week, group and user").click()
    week = grace.get_by_role("region", name=re.compile(r"^Week of .*: .* GPU hours")).first
    # A row for each of the user's groups.
    expect(week.get_by_role("row", name=re.compile("^ada ")).first).to_be_visible()
    expect_accessible(grace)
    expect_no_wider_than_a_phone(grace)
    pictures(grace, "usage")

    with grace.expect_download() as download:
        grace.get_by_role("link", name="As a file (CSV)").click()
    assert download.value.path().read_text().startswith("group,user,gpu_hours,")
    grace.get_by_role("link", name="By account").click()
    expect(grace.get_by_role("columnheader", name="Account and user").first).to_be_visible()

    refused = ada.goto(f"{ADDRESS}/hub/administration/usage")
    assert refused is not None
    assert refused.status == 403
