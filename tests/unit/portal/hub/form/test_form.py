"""What the form of GPUs says, for clusters of all sorts and for none that answers."""

import asyncio
import copy
import threading
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest

from dsportal.diagnosis.messages import Diagnosis
from portal.hub.form import gpu_choices, view
from portal.hub.form.form import make_options_form
from spawner.errors import SlurmUnavailableError
from spawner.forecast.forecaster import Forecast, Rejection
from spawner.options.job_options import JobOptions
from spawner.options.limit_messages import OwnedLimits
from spawner.options.limits import Limits
from spawner.options.offer import read_limits
from spawner.options.traits import SiteTraits, traits_on
from spawner.settings.slurm import SlurmSettings
from spawner.settings.traits import read_traits
from spawner.slurm.associations import AssociationLimits
from spawner.slurm.catalog import Catalog
from spawner.slurm.scontrol import Reservation
from tests.hub.private_hub import node_line

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


class Page(HTMLParser):
    """The parts of a form that a user can act on, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: dict[str, list[dict[str, str | None]]] = {}
        self.selected: list[str | None] = []
        self.buttons: list[dict[str, str | None]] = []
        self.links: list[str | None] = []
        self._words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "input" and values.get("type") == "radio":
            self.fields.setdefault(values["name"] or "", []).append(values)
        elif tag == "option" and "selected" in values:
            self.selected.append(values.get("value"))
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
    def radios(self) -> list[dict[str, str | None]]:
        return self.fields.get("gpus", [])

    @property
    def checked(self) -> list[str | None]:
        return self.marked("gpus")

    def marked(self, name: str) -> list[str | None]:
        return [radio["value"] for radio in self.fields[name] if "checked" in radio]

    def disabled(self, name: str) -> list[str | None]:
        return [radio["value"] for radio in self.fields[name] if "disabled" in radio]


class PageSide(SiteTraits):
    """What the form reads of a spawner, and of what its user may ask of its one cluster."""

    def __init__(self, sinfo: str | None, **traits: Any) -> None:
        super().__init__(**{"partitions": ["jupyter"], "allow_cpu_only": False, **traits})
        self.sinfo = sinfo
        self.user_options: dict[str, object] = {}
        self.user = SimpleNamespace(escaped_name="ada")
        self.hub = SimpleNamespace(base_url="/hub/")
        self.limits = read_limits(self)
        self.known_reservations: dict[str, Reservation] = {}
        self.own: Limits | None = None
        self.forecasts: dict[str, Forecast] = {}
        self.n_asked = 0
        self.account: str | None = None
        self.late_limits: Limits | None = None
        self.cluster = SimpleNamespace(name="")
        self.traits: SiteTraits = self
        self.others: dict[str, PageSide] = {}

    def add_cluster(self, name: str, other: "PageSide", **traits: object) -> None:
        """Give the site a further cluster, which answers as `other` does."""
        self.clusters = {**self.clusters, name: traits}
        other.clusters = {name: traits}
        other.cluster, other.traits = SimpleNamespace(name=name), traits_on(other, name)  # type: ignore[arg-type]
        self.others[name] = other

    def on(self, cluster: str) -> "PageSide":
        return self.others.get(cluster, self)

    def offered_cluster(self, name: object) -> str:
        return name if isinstance(name, str) and name in self.clusters else ""

    @property
    def title(self) -> str:
        return read_traits(self.traits, SlurmSettings).title

    async def knows_limits(self, patience_s: float) -> bool:
        self.own = self.late_limits or self.own
        return True

    async def read_reservations(self) -> dict[str, Reservation]:
        return self.known_reservations

    def owned_limits(self, options: JobOptions) -> OwnedLimits:
        return OwnedLimits(site=read_limits(self), groups=self.limits, own=self.own or self.limits)

    def account_of(self, options: JobOptions) -> str | None:
        return self.account

    async def forecast(self, user_options: dict[str, str]) -> Forecast | None:
        self.n_asked += 1
        return self.forecasts.get(user_options["gpus"])

    async def read_catalog(self) -> Catalog:
        if self.sinfo is None:
            raise SlurmUnavailableError("Slurm did not answer. Try again in a minute.")
        return Catalog.parse(self.sinfo)


def show(spawner: PageSide, *, simulated: bool = False, wait_s: float = 0) -> Page:
    form = make_options_form(simulated_gpus=simulated, wait_s=wait_s, clock=lambda: NOON)
    return Page(asyncio.run(form(spawner)))


def test_each_choice_says_what_comes_with_it() -> None:
    page = show(PageSide(node_line("node01")))

    assert [radio["value"] for radio in page.radios] == ["1", "2", "3", "4"]
    for words in (
        "1 GPU 8 cores · 48 GB of memory · 8 hours",
        "4 GPUs 32 cores · 192 GB of memory · 8 hours",
    ):
        assert words in page.text
    assert page.checked == ["1"]
    assert page.buttons[0]["type"] == "submit"


def test_the_first_form_after_a_start_of_the_hub_waits_for_the_limits_of_accounting() -> None:
    spawner = PageSide(node_line("node01"))
    spawner.late_limits = spawner.limits.under(AssociationLimits(max_gpus=1, of="you"))

    page = show(spawner)

    assert page.disabled("gpus") == ["2", "3", "4"]


def test_the_site_decides_what_comes_with_a_gpu_and_for_how_long() -> None:
    site = {"cores_per_gpu": 4, "memory_per_gpu_gib": 16, "session_hours": 1.5}

    page = show(PageSide(node_line("node01"), **site))

    assert "2 GPUs 8 cores · 32 GB of memory · 1.5 hours" in page.text


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


def test_what_is_over_a_limit_is_shown_but_cannot_be_chosen_and_says_why() -> None:
    page = show(PageSide(node_line("node01"), max_gpus=2))

    assert page.disabled("gpus") == ["3", "4"]
    assert page.text.count("The limit of this site is 2 GPUs in a session.") == 2


def test_limits_of_a_group_are_shown_with_their_reason() -> None:
    spawner = PageSide(node_line("node01"))
    group_limits = {"students": {"max_gpus": 1, "max_hours": 4}}
    spawner.limits = spawner.limits.for_groups(["students"], group_limits)

    page = show(spawner)

    assert page.disabled("gpus") == ["2", "3", "4"]
    assert "The limit of your groups is 1 GPU in a session." in page.text
    assert page.disabled("hours") == ["8", "12", "24"]
    assert page.marked("hours") == ["4"]
    assert "The limit of your groups is 4 hours." in page.text


def test_limits_of_slurms_accounting_are_shown_with_their_owner() -> None:
    spawner = PageSide(node_line("node01"))
    ceiling = AssociationLimits(max_gpus=3, max_walltime_s=4 * 3600, of="the account research")
    spawner.own = spawner.limits.under(ceiling)

    page = show(spawner)

    assert page.disabled("gpus") == ["4"]
    assert "The limit of the account research is 3 GPUs in a session." in page.text
    assert "The limit of the account research is 4 hours." in page.text


def test_the_length_of_a_session_goes_up_to_the_sites_limit_and_starts_with_its_default() -> None:
    page = show(PageSide(node_line("node01")))

    assert [radio["value"] for radio in page.fields["hours"]] == ["1", "2", "4", "8", "12", "24"]
    assert page.marked("hours") == ["8"]


def test_a_short_default_partition_of_slurm_that_is_not_offered_shortens_nothing() -> None:
    short = node_line("node01").replace("1-00:00:00", "30:00")
    offered = node_line("node02").replace("jupyter|jupyter*", "big|big")

    page = show(PageSide(short + offered, partitions=["big"]))

    assert page.marked("hours") == ["8"]


def test_one_type_and_one_partition_are_no_choice() -> None:
    assert set(show(PageSide(node_line("node01"))).fields) == {"gpus", "hours"}


def test_types_and_partitions_say_how_many_of_each_are_free() -> None:
    old, new = node_line("node01", n_used=3), node_line("node02").replace("v100", "a100")
    other = node_line("node03").replace("jupyter|jupyter*", "big|big")
    spawner = PageSide(old + new + other, partitions=["jupyter", "big"])

    page = show(spawner)

    assert [radio["value"] for radio in page.fields["gpu_type"]] == ["", "a100", "v100"]
    assert "v100 5 of 8 free" in page.text
    assert [radio["value"] for radio in page.fields["partition"]] == ["", "jupyter", "big"]
    assert "jupyter 5 of 8 free" in page.text


def test_the_form_says_when_each_choice_would_start() -> None:
    spawner = PageSide(node_line("node01", n_used=2))
    for gpus, minutes in (("1", 0), ("2", 1), ("3", 140), ("4", 60 * 20)):
        starts_at = NOON + timedelta(minutes=minutes)
        spawner.forecasts[gpus] = Forecast(answer=starts_at, made_at=NOON)

    page = show(spawner, wait_s=1)

    assert page.text.count(" starts now") == 2
    assert "about 14:20; 2 GPUs would start now" in page.text
    assert "not before tomorrow, 08:00; 2 GPUs would start now" in page.text
    assert page.disabled("gpus") == []


def test_a_choice_that_slurm_would_refuse_cannot_be_chosen_and_says_why() -> None:
    spawner = PageSide(node_line("node01"))
    diagnosis = Diagnosis(sentence="Your account may not do this.", next_step="Ask.")
    spawner.forecasts["4"] = Forecast(answer=Rejection(diagnosis=diagnosis), made_at=NOON)

    page = show(spawner, wait_s=1)

    assert page.disabled("gpus") == ["4"]
    assert "Your account may not do this." in page.text


def colleagues(**answers: datetime | Rejection) -> tuple[PageSide, PageSide]:
    """Return two users who see the same catalog, each with Slurm's answer by "gpus_N"."""
    first, second = PageSide(node_line("node01")), PageSide(node_line("node01"))
    catalog = Catalog.parse(node_line("node01"))

    async def read_catalog() -> Catalog:
        return catalog

    for spawner in (first, second):
        spawner.read_catalog = read_catalog  # type: ignore[method-assign]
        spawner.account = "research"
        for name, answer in answers.items():
            spawner.forecasts[name[-1]] = Forecast(answer=answer, made_at=NOON)
    return first, second


def test_users_of_one_account_share_the_forecasts_until_the_next_catalog() -> None:
    first, second = colleagues(gpus_1=NOON, gpus_2=NOON, gpus_3=NOON, gpus_4=NOON)

    assert show(first, wait_s=1).text == show(second, wait_s=1).text

    assert (first.n_asked, second.n_asked) == (4, 0)
    assert show(second, wait_s=1).text.count(" starts now") == 4


@pytest.mark.parametrize(
    ("accounts", "n_known"),
    [(("research", "teaching"), 4), ((None, None), 4), (("research", "research"), 3)],
    ids=["another account", "no known account", "an answer is still missing"],
)
def test_forecasts_that_are_not_shared_are_asked_for_again(
    accounts: tuple[str | None, str | None], n_known: int
) -> None:
    pair = colleagues(**{f"gpus_{n}": NOON for n in range(1, n_known + 1)})

    for spawner, account in zip(pair, accounts, strict=True):
        spawner.account = account
        show(spawner, wait_s=1)

    assert [spawner.n_asked for spawner in pair] == [4, 4]


def test_a_refusal_may_be_about_one_user_so_nobody_else_sees_it() -> None:
    refusal = Rejection(diagnosis=Diagnosis(sentence="You may not do this.", next_step="Ask."))
    first, second = colleagues(gpus_1=NOON, gpus_2=NOON, gpus_3=NOON, gpus_4=refusal)
    second.forecasts["4"] = Forecast(answer=NOON, made_at=NOON)

    assert show(first, wait_s=1).disabled("gpus") == ["4"]
    assert show(second, wait_s=1).disabled("gpus") == []


def test_the_form_does_not_wait_for_a_slurm_that_forecasts_slowly() -> None:
    spawner = PageSide(node_line("node01"))

    async def never(_: dict[str, str]) -> Forecast | None:
        await asyncio.Event().wait()
        return None

    spawner.forecast = never  # type: ignore[method-assign]

    assert show(spawner, wait_s=0.01).text.count("can start now") == 4


def test_all_fields_of_the_last_choice_are_marked_again() -> None:
    spawner = PageSide(
        node_line("node01"), accounts=["physics", "biology"], reservations=["course"]
    )
    spawner.user_options = {"gpus": 2, "hours": 2, "account": "biology", "reservation": "gone"}

    page = show(spawner)

    assert (page.checked, page.marked("hours"), page.selected) == (["2"], ["2"], ["biology", ""])


def test_accounts_and_the_like_are_closed_and_only_there_where_the_site_offers_some() -> None:
    spawner = PageSide(node_line("node01"), qos=["long"])

    assert "Quality of service" in show(spawner).text
    assert "Advanced" not in show(PageSide(node_line("node01"))).text


def test_nodes_with_little_memory_give_less_and_the_form_says_why() -> None:
    page = show(PageSide(node_line("node01").replace("|384000|", "|100000|")))

    assert "1 GPU 8 cores · 24.4 GB" in page.text
    assert "node01 has 40 cores and 97 GB for 4 GPUs" in page.text


def test_a_cluster_without_gpus_is_named_and_nothing_can_be_started() -> None:
    page = show(PageSide(node_line("node01").replace("gpu:v100:4|gpu:v100:0(IDX:N/A)", "(null)|")))

    assert "No GPU is offered." in page.text
    assert "jupyter" in page.text
    assert page.buttons == []


def test_a_session_without_a_gpu_is_a_choice_with_a_small_share_of_its_own() -> None:
    page = show(PageSide(node_line("node01"), allow_cpu_only=True))

    assert page.radios[0]["value"] == "0"
    assert page.checked == ["1"]
    assert "No GPU 2 cores · 8 GB of memory" in page.text


def test_a_cluster_without_gpus_still_offers_notebooks_and_says_so() -> None:
    sinfo = node_line("node01").replace("gpu:v100:4|gpu:v100:0(IDX:N/A)", "(null)|")
    page = show(PageSide(sinfo, allow_cpu_only=True))

    assert "Slurm knows no GPU in jupyter." in page.text
    assert page.checked == ["0"]


def test_forms_that_are_asked_for_at_once_count_the_nodes_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog, counted = Catalog.parse(node_line("node01")), []
    all_have_asked = threading.Event()

    def make(*arguments: Any, **named: Any) -> gpu_choices.GpuChoices:
        counted.append(named["selected"])
        assert all_have_asked.wait(10)
        return gpu_choices.make_gpu_choices(*arguments, **named)

    async def read() -> Catalog:
        return catalog

    async def ask() -> list[str]:
        spawners = [PageSide(node_line("node01")) for _ in range(5)]
        for spawner in spawners:
            spawner.read_catalog = read  # type: ignore[method-assign]
        form = make_options_form(simulated_gpus=False, clock=lambda: NOON)
        forms = asyncio.gather(*map(form, spawners))
        for _ in range(50):
            await asyncio.sleep(0)
        all_have_asked.set()
        return await forms

    monkeypatch.setattr(view, "make_gpu_choices", make)
    assert len(asyncio.run(ask())) == 5
    assert len(counted) == 1


def test_slurm_down_is_a_sentence_with_the_time_of_the_last_answer_and_a_way_to_try_again() -> None:
    now = [NOON]
    form = make_options_form(simulated_gpus=True, clock=lambda: now[0])
    asyncio.run(form(PageSide(node_line("node01"))))
    now[0] = NOON + timedelta(minutes=5)

    # Traitlets gives each spawner a copy of what an option holds.
    page = Page(asyncio.run(copy.deepcopy(form)(PageSide(None))))

    assert "Slurm did not answer." in page.text
    assert "last responded at 12:00" in page.text
    assert page.links == ["/hub/spawn/ada"]
    assert page.buttons == []
    assert page.radios == []


def test_slurm_down_since_the_start_of_the_portal_is_said_so() -> None:
    assert "has not responded since the portal was started" in show(PageSide(None)).text


def test_what_slurm_says_is_no_html() -> None:
    spawner = PageSide(None)

    async def fail() -> Catalog:
        raise SlurmUnavailableError("<script>alert(1)</script>")

    spawner.read_catalog = fail  # type: ignore[method-assign]
    form = make_options_form(simulated_gpus=False)

    assert "<script>" not in asyncio.run(form(spawner))


def test_a_reservation_says_how_long_it_lasts_or_that_it_is_over() -> None:
    spawner = PageSide(node_line("node01"), reservations=["course", "later", "gone"])
    hour, noon = timedelta(hours=1), NOON.replace(tzinfo=None)
    for name, starts_at in (("course", noon - hour), ("later", noon + hour)):
        spawner.known_reservations[name] = Reservation(
            name=name, starts_at=starts_at, ends_at=starts_at + 3 * hour
        )

    page = show(spawner)

    assert "course (2 h left)" in page.text
    assert "later (begins at 13:00)" in page.text
    assert "gone: It is over, or Slurm does not have it." in page.text


def test_a_partition_says_which_lengths_it_does_not_take() -> None:
    short = node_line("node02").replace("jupyter|jupyter*|up|1-00:00:00", "short|short|up|4:00:00")
    spawner = PageSide(node_line("node01") + short, partitions=["jupyter", "short"])

    spawner.user_options = {"partition": "short"}
    page = show(spawner)

    assert page.marked("partition") == ["short"]
    assert page.marked("hours") == ["4"]
    assert page.disabled("hours") == ["8", "12", "24"]
    assert "short allows 4 hours." in page.text


def two_clusters(sinfo: str | None, marked: str = "") -> PageSide:
    """Return a site whose second cluster answers so."""
    spawner = PageSide(node_line("node01"), slurm_title="Kepler")
    spawner.add_cluster("volta", PageSide(sinfo), slurm_title="Volta")
    spawner.user_options = {"cluster": marked} if marked else {}
    spawner.forecasts["1"] = Forecast(answer=NOON + timedelta(hours=2), made_at=NOON)
    spawner.others["volta"].forecasts["1"] = Forecast(answer=NOON, made_at=NOON)
    return spawner


def test_two_clusters_are_side_by_side_with_their_starts_and_free_gpus() -> None:
    page = show(two_clusters(node_line("node01")), wait_s=1)

    assert [item["value"] for item in page.fields["cluster"]] == ["", "volta"]
    assert page.marked("cluster") == [""]
    assert "Kepler about 14:00, 4 of 4 free" in page.text
    assert "Volta starts now, 4 of 4 free" in page.text


def test_the_sizes_of_a_form_are_those_of_the_marked_cluster() -> None:
    page = show(two_clusters(node_line("node01").replace("v100:4", "v100:2"), "volta"), wait_s=1)

    assert page.marked("cluster") == ["volta"]
    assert [radio["value"] for radio in page.radios] == ["1", "2"]
    assert page.links[-1] is not None
    assert "cluster=volta" in page.links[-1]


@pytest.mark.parametrize("marked", ["", "volta", "gone"])
def test_a_cluster_that_does_not_answer_keeps_nobody_from_the_other(marked: str) -> None:
    page = show(two_clusters(None, marked), wait_s=1)

    assert "Volta does not answer" in page.text
    assert (page.marked("cluster"), page.disabled("cluster")) == ([""], ["volta"])
    assert page.checked == ["1"]


def test_a_site_with_one_cluster_has_no_choice_of_it() -> None:
    assert "cluster" not in show(PageSide(node_line("node01"))).fields
