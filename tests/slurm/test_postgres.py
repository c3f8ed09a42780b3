"""PostgreSQL as the hub's database, with a session that outlives the hub."""

from collections.abc import Iterator

import pytest

from tests.slurm.conftest import USER, cancel_all, sessions, start, wait_until_ready
from tests.slurm.installation import InstalledHub
from tests.slurm.test_upgrade import present_package
from tests.support.postgres import PROGRAMS, WHY_NOT, running_postgres
from tests.support.private_hub import ACCOUNT

pytestmark = pytest.mark.skipif(not PROGRAMS, reason=WHY_NOT)


@pytest.fixture
def db_url() -> Iterator[str]:
    """Yield the address of an empty database of the hub's account."""
    with running_postgres(ACCOUNT) as url:
        yield url


@pytest.fixture
def site(db_url: str) -> Iterator[InstalledHub]:
    cancel_all()
    site = InstalledHub(db_url)
    try:
        site.install("new", present_package(site.shared / "new-package"))
        yield site
    finally:
        site.stop()
        site.close()
        cancel_all()


@pytest.mark.release
def test_the_hub_keeps_its_sessions_in_postgresql_and_goes_back_to_a_copy(
    site: InstalledHub,
) -> None:
    site.start_installed()
    site.rest("POST", f"/users/{USER}").raise_for_status()
    start(site)
    wait_until_ready(site)
    (job,) = sessions()
    assert not (site.folder / "jupyterhub.sqlite").exists()

    copy = site.dsportal("new", "backup").stdout.strip()
    assert copy.endswith(".dump")
    site.rest("POST", "/users/linus").raise_for_status()

    site.stop()
    switched = site.dsportal("new", "switch", "new", "--database", copy, "--yes")
    assert switched.returncode == 0, switched.stderr
    site.start_installed()

    assert site.server(USER)["ready"]
    assert sessions() == [job]
    assert site.rest("GET", "/users/linus").status_code == 404, "linus came after the copy"
