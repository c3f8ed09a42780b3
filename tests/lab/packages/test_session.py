"""Hub and session of the released files alone, and an upgrade with that session open."""

from collections.abc import Iterator

import pytest
import requests

from tests.lab.packages.conftest import Releases
from tests.lab.packages.installed_release import InstalledRelease
from tests.slurm.conftest import USER, cancel_all, sessions, start
from tests.support.eventually import eventually

WHEELS = ("data_scientist_portal-*.whl", "dsportal-*.whl")
ARCHIVES = ("data_scientist_portal-*.tar.gz", "dsportal-*.tar.gz")
# JupyterLab itself is started, on a machine that may have other work.
READY_TIMEOUT_S = 180


@pytest.fixture(scope="module")
def site(releases: Releases) -> Iterator[InstalledRelease]:
    """A site with the last release, in use, from wheels, and the next one from its archives."""
    cancel_all()
    site = InstalledRelease()
    try:
        site.install_release(releases.last, *WHEELS)
        site.install_release(releases.next, *ARCHIVES)
        site.start_installed()
        site.rest("POST", f"/users/{USER}").raise_for_status()
        yield site
    finally:
        site.stop()
        cancel_all()
        site.close()


@pytest.fixture
def running(site: InstalledRelease) -> InstalledRelease:
    """The site with a session of the test's user."""
    if not site.server(USER).get("ready"):
        start(site)
        wait_until_ready(site)
    return site


def wait_until_ready(site: InstalledRelease) -> None:
    eventually(lambda: site.server(USER).get("ready"), timeout_s=READY_TIMEOUT_S)


def ask_session(
    site: InstalledRelease, path: str, body: object = None, *, method: str = "GET"
) -> requests.Response:
    """Ask the session through the proxy, as its user could."""
    answer = requests.request(
        method,
        f"{site.public_url}/user/{USER}/{path}",
        json=body,
        headers={"Authorization": f"token {site.token}"},
        timeout=60,
    )
    answer.raise_for_status()
    return answer


def test_an_installed_hub_starts_a_session_with_the_buttons_and_routes_of_the_portal(
    running: InstalledRelease,
) -> None:
    page = ask_session(running, "lab").text
    assert '"name": "data-scientist-portal"' in page, "JupyterLab loads the buttons"
    assert "left_s" in ask_session(running, "portal/api/session").text
    styles = ask_session(running, "lab/extensions/data-scientist-portal/static/style.js")
    assert styles.status_code == 200


def test_a_cell_of_such_a_session_imports_what_users_import(running: InstalledRelease) -> None:
    kernel = ask_session(running, "api/kernels", {"name": "python3"}, method="POST").json()
    try:
        server = running.nodes / running.version / "environments/server/bin/python"
        assert kernel["name"] == "python3"
        said = running.ask_python(server, "import dsportal; print(dsportal.__version__)")
        assert said.strip() == running.version
    finally:
        ask_session(running, f"api/kernels/{kernel['id']}", method="DELETE")


def test_a_session_goes_on_through_an_upgrade_to_the_next_release_and_back(
    running: InstalledRelease, releases: Releases
) -> None:
    (job,) = sessions()
    last, following = releases.last.version, releases.next.version

    for version in (following, last):
        running.stop()
        ask_session(running, "api/status")
        done = running.dsportal(following, "switch", version, "--yes")
        assert done.returncode == 0, done.stderr
        running.start_installed()

        said = running.python("import spawner; print(spawner.__version__)").strip()
        assert said == running.version == version
        assert running.server(USER)["ready"]
        assert sessions() == [job], "the same job runs"
        assert "left_s" in ask_session(running, "portal/api/session").text


def test_the_next_release_stops_what_the_last_one_started_and_starts_its_own(
    running: InstalledRelease, releases: Releases
) -> None:
    running.stop()
    done = running.dsportal(releases.next.version, "switch", releases.next.version, "--yes")
    assert done.returncode == 0, done.stderr
    running.start_installed()

    running.rest("DELETE", f"/users/{USER}/server").raise_for_status()
    eventually(lambda: not sessions(), timeout_s=30)
    eventually(lambda: not running.server(USER), timeout_s=30)
    start(running)
    wait_until_ready(running)

    assert "left_s" in ask_session(running, "portal/api/session").text
