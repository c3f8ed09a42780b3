"""A proxy that has lost the routes of sessions, or does not take them from the hub."""

import pytest

from tests.hub.private_hub import Browser, PrivateHub
from tests.support.eventually import eventually


@pytest.fixture
def ada(hub: PrivateHub) -> Browser:
    browser = Browser(hub)
    browser.log_in("ada").raise_for_status()
    browser.choose("ada", gpus="1").raise_for_status()
    eventually(lambda: "/user/ada" in "".join(hub.ask_proxy("GET").json()), timeout_s=60)
    eventually(lambda: browser.get("/user/ada/").text == "a notebook server", timeout_s=60)
    return browser


def test_a_lost_route_is_there_again_with_the_first_request_that_misses_it(ada: Browser) -> None:
    ada.hub.ask_proxy("DELETE", "/user/ada").raise_for_status()

    answer = ada.get("/user/ada/lab?reset")

    assert answer.text == "a notebook server"
    assert "/user/ada" in ada.hub.ask_proxy("GET").json()
    ada.stop("ada").raise_for_status()
