"""The form of a running hub, with a cluster that tests set by hand."""

import time

import requests

from tests.hub.private_hub import Browser, PrivateHub, node_line


def log_in(hub: PrivateHub, name: str = "ada") -> Browser:
    browser = Browser(hub)
    browser.log_in(name)
    return browser


def choices(browser: Browser, name: str, query: str = "") -> list[dict[str, str]]:
    answer = browser.get(f"/hub/portal/choices/{name}?{query}")
    answer.raise_for_status()
    found: list[dict[str, str]] = answer.json()["choices"]
    return found


def test_the_page_asks_for_times_and_free_gpus_as_json(hub: PrivateHub) -> None:
    hub.set_cluster(sinfo=node_line("node01", n_used=3), forecast_min={"1": 0, "4": 200})

    _, one, _, _, four = choices(log_in(hub), "ada", "hours=2")

    assert (one["start"], one["tone"], one["hours"]) == ("starts now", "good", "2 hours")
    assert four["tone"] == "wait"
    assert four["start"].endswith("; 1 GPU would start now")


def test_nobody_sees_what_others_may_choose(hub: PrivateHub) -> None:
    assert log_in(hub, "linus").get("/hub/portal/choices/ada").status_code == 404
    anonymous = requests.get(f"{hub.url}/hub/portal/choices/ada", timeout=10)
    assert "Sign in" in anonymous.text


def test_slurm_down_is_a_sentence_for_the_page_too(hub: PrivateHub) -> None:
    hub.set_cluster(slurm_is_down=True)
    browser = log_in(hub)

    answer = browser.get("/hub/portal/choices/ada")

    assert answer.status_code == 503
    assert "Slurm does not answer" in answer.json()["message"]
    assert browser.get("/hub/spawn/ada").status_code == 200


def test_a_refused_form_comes_again_as_it_was_sent(hub: PrivateHub) -> None:
    browser = log_in(hub)

    page = browser.choose("ada", gpus="3", hours="2", partition="none-such")

    assert page.status_code == 400
    assert 'name="gpus" value="3" checked' in page.text
    assert 'name="hours" value="2" checked' in page.text


def test_a_slurm_that_hangs_is_not_waited_for(hub: PrivateHub) -> None:
    browser = log_in(hub)
    assert "8 of 8" in browser.get("/hub/spawn/ada").text
    hub.set_cluster(slurm_answers_after_s=6)

    before = time.monotonic()
    page = browser.get("/hub/spawn/ada")

    assert time.monotonic() - before < 4
    assert "Slurm is slow to answer. Slurm last responded at" in page.text
    assert 'name="gpus" value="4"' in page.text
