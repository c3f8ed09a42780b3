"""The form and the page of use of a site with two clusters, in Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.hub.private_hub import (
    LDAP_LOGIN,
    PrivateHub,
    find_proxy,
    node_line,
    running_hub_with,
)
from tests.hub.private_slapd import BASE, SLAPD, Authority, running_slapd
from tests.hub.test_pages_in_browser import log_in

TABLES = """
[slurm]
title = "Kepler"
[clusters.volta]
title = "Volta"
slurm_conf = "{slurm_conf}"
"""
# Nothing listens there.
SLURM_CONF = """
ClusterName=volta
SlurmctldHost=localhost
SlurmctldPort=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=1
"""


@pytest.fixture
def two_clusters(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority
) -> Iterator[PrivateHub]:
    if not SLAPD or not find_proxy().exists():
        pytest.skip(f"slapd and {find_proxy()} are needed")
    folder: Path = tmp_path_factory.mktemp("two-clusters")
    with running_slapd(folder / "slapd", authority, ["ada", "grace"]) as (port, _):
        servers = f'["ldap://127.0.0.1:{port}"]'
        login = LDAP_LOGIN.format(servers=servers, ca=authority.certificate, base=BASE)
        slurm_conf = folder / "slurm.conf"
        slurm_conf.write_text(SLURM_CONF)
        tables = TABLES.format(slurm_conf=slurm_conf)
        with running_hub_with(folder / "hub", login + tables) as hub:
            hub.set_cluster(sinfo_volta=node_line("volta01", n_gpus=2, n_used=1))
            yield hub


def test_the_form_of_another_cluster_is_a_click_away_and_starts_there(
    two_clusters: PrivateHub, chromium: Browser
) -> None:
    context = chromium.new_context(base_url=two_clusters.url)
    page = context.new_page()
    log_in(page)
    page.goto("/hub/spawn/ada/second")
    volta, kepler = page.locator("input[value=volta]"), page.locator("input[name=cluster]").first
    expect(kepler).to_be_checked()
    expect(page.locator("[data-field=cluster]")).to_contain_text("1 of 2 free")
    assert page.locator("input[name=gpus]").count() == 5

    volta.click()

    expect(volta).to_be_checked()
    expect(page.locator("input[name=gpus]")).to_have_count(3)
    assert page.url.split("?")[0].endswith("/hub/spawn/ada/second")
    assert "cluster=volta" in page.url

    kepler.click()

    expect(kepler).to_be_checked()
    expect(page.locator("input[name=gpus]")).to_have_count(5)
    page.goto("/hub/cluster?cluster=volta")
    expect(page.get_by_role("link", name="Volta")).to_have_attribute("aria-current", "page")
    expect(page.locator("main")).to_contain_text("volta01")
    expect(page.get_by_role("listitem").filter(has_text="Volta")).to_contain_text("1 of 2 free")

    page.goto("/hub/home")
    usage = page.get_by_role("region", name="Your GPU hours")
    for title in ("Kepler", "Volta"):
        expect(usage.get_by_role("heading", name=title)).to_be_visible()
    context.close()


def test_the_page_of_use_names_a_cluster_whose_accounting_does_not_answer(
    two_clusters: PrivateHub, chromium: Browser
) -> None:
    context = chromium.new_context(base_url=two_clusters.url)
    page = context.new_page()
    log_in(page, "grace")

    page.goto("/hub/administration/usage")

    expect(page.get_by_role("alert")).to_contain_text("The hours of Volta are missing.")
    context.close()
