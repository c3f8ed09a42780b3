"""A private hub with a private LDAP server, for tests of login and pages without a cluster."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import CHROMIUM, CHROMIUM_FLAGS
from tests.hub.private_hub import PrivateHub, find_proxy, running_hub
from tests.hub.private_slapd import SLAPD, Authority, running_slapd


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return a certificate authority that the hub trusts."""
    return Authority.create(tmp_path_factory.mktemp("tls") / "good")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Yield a browser without windows; its event loop would be in the way of other modules."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def private_hub(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority
) -> Iterator[PrivateHub]:
    """Yield a running hub whose cluster tests set by hand."""
    if not SLAPD or not find_proxy().exists():
        pytest.skip(f"slapd and {find_proxy()} are needed")
    folder = tmp_path_factory.mktemp("hub")
    with (
        running_slapd(folder / "slapd", authority, ["ada", "grace", "linus", "margaret"]) as (
            port,
            _,
        ),
        running_hub(folder / "hub", [f"ldap://127.0.0.1:{port}"], authority.certificate) as hub,
    ):
        yield hub


@pytest.fixture
def hub(private_hub: PrivateHub) -> PrivateHub:
    """Return the running hub with an idle cluster."""
    private_hub.reset_cluster()
    return private_hub
