"""A private hub with a private LDAP server, for tests of login and pages without a cluster."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import CHROMIUM, CHROMIUM_FLAGS
from tests.hub.private_hub import PrivateHub, find_proxy, running_hub
from tests.hub.private_slapd import SLAPD, Authority, running_slapd
from tests.support.eventually import eventually

# Of the demo cluster.
_OTHER = "grace"
_N_NODES = 2


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


@pytest.fixture
def full_cluster() -> Iterator[None]:
    """Hold all GPUs of the demo cluster as another user."""
    submit = ("sbatch", "--nodes=1", "--gpus-per-node=4", "--time=10", "--output=/dev/null")
    for _ in range(_N_NODES):
        _as_other(*submit, "--wrap=exec sleep 600")
    eventually(lambda: _states_of_other().count("RUNNING") == _N_NODES, timeout_s=30)
    yield
    _as_other("scancel", "-u", _OTHER)
    eventually(lambda: not _states_of_other(), timeout_s=30)


def _as_other(*argv: str) -> str:
    return subprocess.run(
        ["runuser", "-u", _OTHER, "--", *argv],
        cwd=f"/home/{_OTHER}",
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    ).stdout


def _states_of_other() -> list[str]:
    return _as_other("squeue", "-h", "-u", _OTHER, "-o", "%T").split()
