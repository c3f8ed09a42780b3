"""A plain option needs its row in the table, the spawner's trait and the setting: no more."""

import asyncio

import pytest
from traitlets import List, Unicode

from dsportal.slurm.errors import OptionsError
from portal.hub.form.defaults import options_of_link
from spawner.forecast.query import forecast_query
from spawner.options.offer import Offer
from spawner.options.option_table import OPTIONS, Option
from spawner.programs import launcher
from spawner.session.job_plan import make_plan
from spawner.slurm.job_script import JobPlan, build_job
from tests.unit.portal.hub.form.test_form import PageSide, node_line, show


class Site(PageSide):
    """A site that lists the keys under which its users' work is accounted."""

    wckeys = List(Unicode())
    req_partition = req_account = req_qos = req_reservation = ""
    req_options = req_prologue = req_epilogue = ""

    def get_args(self) -> list[str]:
        return []


@pytest.fixture(autouse=True)
def row(monkeypatch: pytest.MonkeyPatch) -> None:
    wckey = Option(label="Project", called="project", listed_in="wckeys", flag="wckey")
    monkeypatch.setitem(OPTIONS, "wckey", wckey)


@pytest.fixture
def site() -> Site:
    return Site(node_line("node01"), wckeys=["vision", "speech"])


def plan(site: Site, name: str) -> JobPlan:
    catalog = asyncio.run(site.read_catalog())
    request = Offer(traits=site).check({"wckey": name}, catalog)
    return make_plan(site, request, job_name="dsportal-0", comment="c")


def test_it_is_a_field_of_the_form_with_what_a_link_marks(site: Site) -> None:
    site.user_options = options_of_link({"opt-wckey": ["speech"]})

    page = show(site)

    assert "Project" in page.text
    assert "vision" in page.text
    assert page.selected == ["speech"]
    assert page.links[-1] is not None
    assert page.links[-1].endswith("&wckey=speech")


def test_it_goes_to_sbatch_and_into_the_forecast_and_the_launcher_lets_it_through(
    site: Site,
) -> None:
    submitted = plan(site, "vision")
    asked = forecast_query(submitted, Offer(traits=site, user="ada")).plan

    for job in (build_job(submitted), build_job(asked)):
        assert "--wckey=vision" in job.argv
        assert launcher.checked_arguments(list(job.argv)) == list(job.argv)


def test_only_what_the_site_lists_can_be_asked_for(site: Site) -> None:
    with pytest.raises(
        OptionsError, match=r"music, which is not available to you\. Choose from vision, speech"
    ):
        plan(site, "music")
    site.wckeys = []
    with pytest.raises(OptionsError, match="does not let users choose one"):
        plan(site, "vision")


def test_a_sites_default_is_asked_for_if_the_user_names_none(site: Site) -> None:
    site.req_wckey = "speech"

    assert "--wckey=speech" in build_job(plan(site, "")).argv


def test_the_page_on_which_a_session_opens_is_none_of_slurms() -> None:
    site = Site(node_line("node01"), pages={"Notebook": "/tree"})
    site.user_options = {"opens": "Notebook"}
    catalog = asyncio.run(site.read_catalog())

    request = Offer(traits=site).check({"opens": "Notebook"}, catalog)
    job = build_job(make_plan(site, request, job_name="dsportal-0", comment="c"))

    assert show(site).marked("opens") == ["Notebook"]
    assert not any("Notebook" in word for word in job.argv)
    with pytest.raises(OptionsError, match="not available to you"):
        Offer(traits=site).check({"opens": "RStudio"}, catalog)
