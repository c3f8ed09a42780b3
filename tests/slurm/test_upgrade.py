"""Another version and back, with sessions open and a database of an older JupyterHub.

Both versions have the code of this checkout. tests/lab/packages upgrades from the files of a
release to those of the next one, with a session of theirs.
"""

import contextlib
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.slurm.conftest import USER, cancel_all, sessions, start, wait_until_ready
from tests.slurm.installation import InstalledHub
from tests.support.checkout import CHECKOUT, LIBRARY
from tests.support.eventually import eventually
from tests.support.second_cluster import CLUSTERS, NAME, PARTITION, SLURM_CONF, SecondCluster

PACKAGES = (CHECKOUT / "portal", CHECKOUT / "spawner", LIBRARY / "dsportal")
# What the revision before JupyterHub's newest one lacks.
OLDER_REVISION = "ff1860e38070"
OLDER_SCHEMA = (
    "ALTER TABLE spawners DROP COLUMN display_name",
    f"UPDATE alembic_version SET version_num = '{OLDER_REVISION}'",
)
FURTHER_CLUSTER = f"""
[slurm]
title = "Kepler"
[clusters.{NAME}]
title = "Volta"
slurm_conf = "{SLURM_CONF}"
[clusters.{NAME}.partitions.{PARTITION}]
"""


def present_package(folder: Path) -> Path:
    """Return the packages of this checkout, where the hub's account and the nodes can read them."""
    folder.mkdir()
    for package in PACKAGES:
        subprocess.run(["cp", "-r", package, folder / package.name], check=True)
    return folder


@pytest.fixture
def site() -> Iterator[InstalledHub]:
    """Yield a site with the versions "old", in use, and "new"."""
    cancel_all()
    site = InstalledHub()
    try:
        site.install("old", present_package(site.shared / "old-package"))
        site.install("new", present_package(site.shared / "new-package"))
        yield site
    finally:
        site.stop()
        site.close()
        cancel_all()


def run_sql(site: InstalledHub, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(site.folder / "jupyterhub.sqlite")) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def revision_of(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(path)) as database:
        return str(database.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def switch(site: InstalledHub, version: str, *options: str) -> str:
    """Switch with the command of the newer version, as the guide has it; return what it said."""
    done = site.dsportal("new", "switch", version, "--yes", *options)
    assert done.returncode == 0, done.stderr
    assert site.version == version
    return done.stdout


def answer_of_session(site: InstalledHub) -> int:
    """Return how the user's session answers through the proxy."""
    url = f"{site.public_url}/user/{USER}/"
    return requests.get(url, timeout=10).status_code


@pytest.mark.release
def test_sessions_go_on_through_an_upgrade_and_back(site: InstalledHub) -> None:
    site.start_installed()
    site.rest("POST", f"/users/{USER}").raise_for_status()
    start(site)
    wait_until_ready(site)
    (job,) = sessions()

    # An older JupyterHub had made the database.
    site.stop()
    run_sql(site, *OLDER_SCHEMA)
    assert answer_of_session(site) == 200, "the proxy and the session need no hub"
    said = switch(site, "new")
    copy = Path(said.partition("copied to ")[2].splitlines()[0])
    assert revision_of(copy) == OLDER_REVISION
    assert revision_of(site.folder / "jupyterhub.sqlite") != OLDER_REVISION

    site.start_installed()
    assert "new-package" in site.python("import portal; print(portal.__file__)")
    assert site.server(USER)["ready"]
    assert sessions() == [job], "the same job runs"
    assert answer_of_session(site) == 200

    # The new version stops what the old one started, and starts another.
    site.rest("DELETE", f"/users/{USER}/server").raise_for_status()
    eventually(lambda: not sessions(), timeout_s=30)
    eventually(lambda: not site.server(USER), timeout_s=30)
    start(site)
    wait_until_ready(site)
    (later_job,) = sessions()

    site.stop()
    switch(site, "old")
    site.start_installed()
    assert "old-package" in site.python("import portal; print(portal.__file__)")
    assert site.server(USER)["ready"]
    assert sessions() == [later_job]
    site.rest("DELETE", f"/users/{USER}/server").raise_for_status()
    eventually(lambda: not sessions(), timeout_s=30)


@pytest.mark.release
def test_a_session_on_a_further_cluster_goes_on_through_a_switch(
    volta: SecondCluster, site: InstalledHub
) -> None:
    line = CLUSTERS.read_text()
    site.settings.write_text(site.settings.read_text() + FURTHER_CLUSTER)
    there = {"gpus": 1, "cluster": NAME}
    site.start_installed()
    site.rest("POST", f"/users/{USER}").raise_for_status()
    start(site, there)
    wait_until_ready(site)
    jobs = volta.jobs()
    assert (len(jobs), sessions()) == (1, [])

    site.stop()
    switch(site, "new")
    site.start_installed()

    assert site.server(USER)["ready"]
    assert volta.jobs() == jobs, "the same job runs"
    site.rest("DELETE", f"/users/{USER}/server").raise_for_status()
    eventually(lambda: not volta.jobs(), timeout_s=30)
    eventually(lambda: not site.server(USER), timeout_s=30)
    start(site, there)
    wait_until_ready(site)
    assert (len(volta.jobs()), sessions()) == (1, [])
    assert CLUSTERS.read_text() == line


def test_a_database_of_a_newer_hub_needs_the_copy_which_is_said(site: InstalledHub) -> None:
    switch(site, "new")
    url = f"sqlite:///{site.folder}/jupyterhub.sqlite"
    site.python(f"from jupyterhub import orm; orm.new_session_factory({url!r})()")
    copy = site.dsportal("new", "backup").stdout.strip()
    run_sql(site, "UPDATE alembic_version SET version_num = 'f00000000000'")

    refused = site.dsportal("new", "switch", "old", "--yes")
    assert refused.returncode == 1
    assert "old is older than the database" in refused.stderr
    assert "--database" in refused.stderr
    assert site.version == "new", "nothing was changed"

    assert "restored" in switch(site, "old", "--database", copy)
    assert revision_of(site.folder / "jupyterhub.sqlite") == revision_of(Path(copy))
