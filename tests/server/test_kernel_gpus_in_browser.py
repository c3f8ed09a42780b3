"""The button beside the name of a notebook's kernel, in a headless Chromium."""

import json
import re
from collections.abc import Iterator

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Locator, Page, Route, expect  # noqa: E402

from tests.support.chromium import TIMEOUT_MS, log_in, picture, start_chromium  # noqa: E402
from tests.support.notebook_server import NotebookServer  # noqa: E402

CHOICES = {
    "gpus": {"": 4, "a100": 2, "v100": 4},
    # The last is more than this portal gives.
    "hours": [["0.5", "30 minutes"], ["2.0", "2 hours"], ["99.0", "99 hours"]],
    "first_hours": "2.0",
    "variables": "ask",
}


@pytest.fixture
def page(server: NotebookServer) -> Iterator[Page]:
    """A tab with a notebook and its kernel."""
    content = {
        "cells": [],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (server.root / "trains.ipynb").write_text(json.dumps(content))
    with start_chromium() as browser:
        page = log_in(browser, server).new_page()
        page.goto(f"{server.host}/user/ada/lab/tree/trains.ipynb")
        yield page


def at(path: str) -> re.Pattern[str]:
    """Return what finds the requests of a route."""
    return re.compile(rf"/portal/api/{path}(\?|$)")


def open_dialog(page: Page) -> Locator:
    button = page.get_by_role("button", name="no GPU")
    expect(button).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible(
        timeout=TIMEOUT_MS
    )
    button.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This kernel has no GPU")
    return dialog


def test_the_dialog_offers_what_the_cluster_has_and_says_a_refusal(page: Page) -> None:
    page.route(at("kernel-gpus"), lambda route: route.fulfill(json=CHOICES))
    said = {"message": "Slurm expects it to start in 3 h."}
    page.route(at("kernels/[^/]+/gpus/forecast"), lambda route: route.fulfill(json=said))
    dialog = open_dialog(page)
    expect(dialog.get_by_role("status")).to_have_text(said["message"])
    numbers = dialog.get_by_label("GPUs").locator("visible=true")
    expect(numbers.locator("option")).to_have_text(["0", "1", "2", "3", "4"])
    dialog.get_by_label("Type").select_option("a100")
    expect(numbers.locator("option")).to_have_text(["0", "1", "2"])
    expect(dialog.get_by_label("Length").locator("option:checked")).to_have_text("2 hours")
    numbers.select_option("2")
    dialog.get_by_label("Length").select_option("99.0")
    expect(dialog.get_by_label("Variables come along")).to_be_checked()
    picture(page, "kernel-gpus")

    with page.expect_request(lambda request: request.method == "POST") as sent:
        dialog.get_by_role("button", name="Start the kernel anew").click()

    assert sent.value.post_data_json == {"gpus": "a100:2", "hours": "99.0", "variables": "always"}
    expect(page.get_by_text("a kernel may have GPUs for at most 24 hours")).to_be_visible()
    expect(page.get_by_role("button", name="no GPU")).to_be_visible()


def test_the_dialog_of_a_slurm_that_is_away_says_so(page: Page) -> None:
    away = {"message": "Slurm is not responding."}
    page.route(
        at("kernel-gpus"),
        lambda route: route.fulfill(status=503, json=away),
    )

    dialog = open_dialog(page)

    expect(dialog.get_by_role("alert")).to_have_text("Slurm is not responding.")
    expect(dialog.get_by_role("button", name="Start the kernel anew")).to_have_count(0)


def test_gpus_of_the_session_go_back_once_the_variables_are_saved(page: Page) -> None:
    held = {"words": "2 GPUs of the session", "reason": "", "gpus": 0, "asked": ""}
    held |= {"is_waiting": False, "session_gpus": 2}
    page.route(at("kernels/[^/]+/gpus"), lambda route: route.fulfill(json=held))
    page.route(at("kernel-gpus"), lambda route: route.fulfill(json=CHOICES))
    refusal = {"message": "A cell runs in trains.ipynb."}
    page.route(at("kernel-gpus/follow-up"), lambda route: route.fulfill(status=409, json=refusal))
    ended: list[str] = []

    def end(route: Route) -> None:
        if route.request.method != "DELETE":
            route.fallback()
            return
        ended.append(route.request.url)
        route.fulfill(status=202, json=None)

    page.route(at("session"), end)

    def give_back() -> None:
        page.get_by_role("button", name="2 GPUs of the session").click(timeout=TIMEOUT_MS)
        page.get_by_role("dialog").get_by_role(
            "button", name="Give the GPUs of the session"
        ).click()
        page.get_by_role("dialog").get_by_role("button", name="Save and give").click()

    give_back()
    expect(page.get_by_text("A cell runs in trains.ipynb.")).to_be_visible()
    assert ended == []

    page.route(at("kernel-gpus/follow-up"), lambda route: route.fulfill(json={"words": []}))
    form = re.compile(r"/hub/spawn.*&gpus=0$")
    with page.expect_request(form, timeout=TIMEOUT_MS):
        give_back()
    assert len(ended) == 1


def test_gpus_of_kernels_are_listed_with_their_hours_and_given_back(page: Page) -> None:
    words = {"words": "2 v100 GPUs, 1 h left", "hours": "3.0 GPU hours held, 0.3 used"}
    held = [{"kernel": "k", "notebook": "trains.ipynb", **words}]
    page.route(at("kernel-gpus/held"), lambda route: route.fulfill(json=held))
    page.route(at("kernels/k/gpus"), lambda route: route.fulfill(status=202, json={}))
    page.get_by_title("Running Terminals and Kernels").click(timeout=TIMEOUT_MS)
    row = page.locator(".jp-RunningSessions-item").filter(has_text="2 v100 GPUs")
    expect(row).to_contain_text("trains.ipynb: 2 v100 GPUs, 1 h left", timeout=TIMEOUT_MS)
    expect(row).to_contain_text("3.0 GPU hours held, 0.3 used")
    row.hover()

    with page.expect_request(at("kernels/k/gpus")) as sent:
        row.get_by_title("Give back").click()

    assert sent.value.post_data_json == {"gpus": 0}
