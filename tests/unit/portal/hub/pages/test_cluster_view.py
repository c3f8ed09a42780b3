"""The cluster page: counts, waiting sessions, and what it costs with a thousand nodes."""

from portal.hub.pages.cluster_handlers import offered
from portal.hub.pages.cluster_rows import MOST_JOBS
from portal.hub.pages.cluster_view import describe_accuracy, describe_cluster
from spawner.forecast.accuracy import Accuracy
from spawner.slurm.catalog import Catalog
from spawner.slurm.cluster_jobs import ClusterJobs
from tests.support.session_rows import session_row


def sinfo(
    name: str,
    *,
    state: str = "mixed",
    gres: str = "gpu:v100:4",
    used: str = "gpu:v100:1(IDX:0)",
    cores: int = 8,
    partition: str = "jupyter",
) -> str:
    return (
        f"{partition}|{partition}*|up|1-00:00:00|UNLIMITED|{name}|10.77.0.1|{state}|"
        f"{cores}/0/0/40|384000|0|{gres}|{used}|\n"
    )


def test_gpus_are_counted_by_type_and_those_of_nodes_that_are_down_apart() -> None:
    catalog = Catalog.parse(
        sinfo("node01")
        + sinfo("node02", state="down", used="gpu:v100:0(IDX:N/A)", cores=0)
        + sinfo("node03", gres="gpu:a100:2", used="gpu:a100:2(IDX:0-1)")
        + sinfo("node04", gres="(null)", used="(null)")
    )

    view = describe_cluster([], catalog=catalog)

    counts = {r.name: (r.total, r.free, r.used, r.down) for r in view.gpus}
    assert counts == {"a100": (2, 0, 2, 0), "v100": (8, 3, 1, 4)}
    assert view.cores is not None
    assert (view.cores.total, view.cores.used, view.cores.down) == (160, 24, 40)


def test_partitions_that_are_not_offered_do_not_count() -> None:
    catalog = Catalog.parse(sinfo("node01") + sinfo("node09", partition="secret"))

    view = describe_cluster([], catalog=offered(catalog, ["jupyter"]))

    assert [r.total for r in view.gpus] == [4]
    assert [r.total for r in describe_cluster([], catalog=offered(catalog, [])).gpus] == [8]


def test_waiting_sessions_are_counted_with_the_oldest() -> None:
    rows = [
        session_row("ada", state="waiting", since_s=600, idle_s=None),
        session_row("grace", state="waiting", since_s=7500, idle_s=None),
        session_row("linus"),
    ]

    view = describe_cluster(rows, catalog=None, problem="Slurm did not answer.")

    assert (view.n_sessions, view.n_waiting, view.oldest) == (1, 2, "2 h 5 min")
    assert view.problem == "Slurm did not answer."


def test_forecasts_are_told_with_the_number_of_sessions_that_they_were_for() -> None:
    assert "not known yet" in describe_accuracy(None)
    one = Accuracy(n_sessions=1, median_error_s=420, median_late_s=420)
    assert "only session that waited so far was off by 7 min" in describe_accuracy(one)
    accuracy = Accuracy(n_sessions=12, median_error_s=420, median_late_s=-300)
    assert describe_accuracy(accuracy) == (
        "Half of the forecasts were off by 7 min or less, counted over the last 12 sessions that"
        " waited. Mostly sessions started earlier than forecast."
    )


def test_a_thousand_nodes_are_counted_once_for_each_answer_of_slurm() -> None:
    catalog = Catalog.parse("".join(sinfo(f"node{n:04}") for n in range(1000)))

    first = describe_cluster([], catalog=offered(catalog, ["jupyter"]))
    again = describe_cluster([], catalog=offered(catalog, ["jupyter"]))

    assert first.gpus[0].total == 4000
    assert again.gpus is first.gpus, "what was counted is used again"


def test_of_many_own_jobs_the_page_lists_the_first_and_says_how_many_more_there_are() -> None:
    lines = [f"{n}|ada|PD|jupyter|1|N/A|5:00|cpu=8|Resources|x" for n in range(MOST_JOBS + 7)]
    jobs = ClusterJobs.parse("\n".join(lines), "|")

    view = describe_cluster([], catalog=None, jobs=jobs, user="ada")

    assert (len(view.jobs), view.n_more_jobs) == (MOST_JOBS, 7)
