"""What the form of GPUs says, for clusters of all sorts and for none that answers."""

from __future__ import annotations

import asyncio
import copy
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest

from portal.hub.form import make_options_form
from spawner.catalog import Catalog
from spawner.errors import SlurmUnavailableError
from spawner.request import limits_of
from spawner.traits import SiteTraits
from tests.hub.private_hub import node_line

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=timezone.utc)


class Page(HTMLParser):
    """The parts of a form that a user can act on, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.radios: list[dict[str, str | None]] = []
        self.buttons: list[dict[str, str | None]] = []
        self.links: list[str | None] = []
        self._words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "input" and values.get("type") == "radio":
            self.radios.append(values)
        elif tag == "button":
            self.buttons.append(values)
        elif tag == "a":
            self.links.append(values.get("href"))

    def handle_data(self, data: str) -> None:
        self._words += data.split()

    @property
    def text(self) -> str:
        return " ".join(self._words)

    @property
    def checked(self) -> list[str | None]:
        return [radio["value"] for radio in self.radios if "checked" in radio]


class PageSide(SiteTraits):
    """What the form reads of a spawner."""

    def __init__(self, sinfo: str | None, **traits: Any) -> None:
        super().__init__(partitions=["jupyter"], **traits)
        self.sinfo = sinfo
        self.user_options: dict[str, object] = {}
        self.user = SimpleNamespace(escaped_name="ada")
        self.limits = limits_of(self)

    async def read_catalog(self) -> Catalog:
        if self.sinfo is None:
            raise SlurmUnavailableError("Slurm did not answer. Try again in a minute.")
        return Catalog.parse(self.sinfo)


def show(spawner: PageSide, *, simulated: bool = False) -> Page:
    form = make_options_form(simulated_gpus=simulated, clock=lambda: NOON)
    return Page(asyncio.run(form(spawner)))


def test_each_choice_says_what_comes_with_it() -> None:
    page = show(PageSide(node_line("node01")))

    assert [radio["value"] for radio in page.radios] == ["1", "2", "3", "4"]
    assert {radio["name"] for radio in page.radios} == {"gpus"}
    for words in ("1 GPU 8 cores · 48 GB · 8 hours", "4 GPUs 32 cores · 192 GB · 8 hours"):
        assert words in page.text
    assert page.checked == ["1"]
    assert [button["type"] for button in page.buttons] == ["submit"]


def test_the_site_decides_what_comes_with_a_gpu_and_for_how_long() -> None:
    site = {"cores_per_gpu": 4, "memory_mib_per_gpu": 16384, "default_walltime_s": 5400}

    page = show(PageSide(node_line("node01"), **site))

    assert "2 GPUs 8 cores · 32 GB · 1.5 hours" in page.text


def test_free_gpus_are_counted_and_a_choice_that_no_node_has_free_has_to_wait() -> None:
    page = show(PageSide(node_line("node01", n_used=3) + node_line("node02", n_used=2)))

    assert "3 of 8 GPUs are free now." in page.text
    assert page.text.count("can start now") == 2
    assert page.text.count("has to wait") == 2


def test_a_full_cluster_says_so_and_still_takes_requests() -> None:
    page = show(PageSide(node_line("node01", n_used=4)))

    assert "All 4 GPUs are taken now" in page.text
    assert page.text.count("has to wait") == 4
    assert page.buttons


def test_gpus_of_a_node_that_is_down_are_not_free() -> None:
    page = show(PageSide(node_line("node01", state="down") + node_line("node02")))

    assert "4 of 8 GPUs are free now." in page.text


@pytest.mark.parametrize("simulated", [True, False])
def test_simulated_gpus_are_called_so_and_real_ones_are_not(simulated: bool) -> None:
    page = show(PageSide(node_line("node01")), simulated=simulated)

    assert ("simulated" in page.text) is simulated


def test_the_last_choice_is_marked_again_unless_it_is_no_longer_possible() -> None:
    spawner = PageSide(node_line("node01"))

    spawner.user_options = {"gpus": "3"}
    assert show(spawner).checked == ["3"]
    spawner.user_options = {"gpus": 8}
    assert show(spawner).checked == ["1"]
    spawner.user_options = {"gpus": "many"}
    assert show(spawner).checked == ["1"]


def test_a_limit_of_the_site_shortens_the_list() -> None:
    assert len(show(PageSide(node_line("node01"), max_gpus=2)).radios) == 2


def test_nodes_with_little_memory_give_less_and_the_form_says_why() -> None:
    page = show(PageSide(node_line("node01").replace("|384000|", "|100000|")))

    assert "1 GPU 8 cores · 24.4 GB" in page.text
    assert "node01 has 40 cores and 97 GB for 4 GPUs" in page.text


def test_a_cluster_without_gpus_is_named_and_nothing_can_be_started() -> None:
    page = show(PageSide(node_line("node01").replace("gpu:v100:4|gpu:v100:0(IDX:N/A)", "(null)|")))

    assert "No GPU is offered." in page.text
    assert "jupyter" in page.text
    assert page.buttons == []


def test_slurm_down_is_a_sentence_with_the_time_of_the_last_answer_and_a_way_to_try_again() -> None:
    now = [NOON]
    form = make_options_form(simulated_gpus=True, clock=lambda: now[0])
    asyncio.run(form(PageSide(node_line("node01"))))
    now[0] = NOON + timedelta(minutes=5)

    # Traitlets gives each spawner a copy of what an option holds.
    page = Page(asyncio.run(copy.deepcopy(form)(PageSide(None))))

    assert "Slurm did not answer." in page.text
    assert "last answer came at 12:00" in page.text
    assert page.links == ["/hub/spawn/ada"]
    assert page.buttons == []
    assert page.radios == []


def test_slurm_down_since_the_start_of_the_portal_is_said_so() -> None:
    assert "has not answered since the portal was started" in show(PageSide(None)).text


def test_what_slurm_says_is_no_html() -> None:
    spawner = PageSide(None)

    async def fail() -> Catalog:
        raise SlurmUnavailableError("<script>alert(1)</script>")

    spawner.read_catalog = fail  # type: ignore[method-assign]
    form = make_options_form(simulated_gpus=False)

    assert "<script>" not in asyncio.run(form(spawner))
