import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from spawner.errors import JobRejectedError, SlurmError, SlurmUnavailableError
from spawner.forecast.forecaster import Forecaster, Rejection, parse_test_only
from spawner.forecast.query import ForecastQuery, forecast_query
from spawner.options.offer import Offer
from spawner.settings.resources import ResourceSettings
from spawner.slurm.associations import Association, Associations
from spawner.slurm.job_script import JobPlan, build_job

NOW = datetime(2026, 11, 20, 14, 0, 0, tzinfo=UTC)
PLAN = JobPlan(
    job_name="dsportal-forecast",
    comment="c",
    resources=ResourceSettings().per_gpu.resources(1),
    walltime_s=28800,
    server_argv=("true",),
)
QUESTION = ForecastQuery(user="ada", plan=PLAN)
GOLDEN = Path(__file__).parents[1] / "golden" / "slurm-22.05" / "test-only.txt"


def offer_to(user: str, associations: Associations | None = None) -> Offer:
    traits = SimpleNamespace(req_account="")
    return Offer(traits=traits, user=user, associations=associations or Associations())


def about(**changes: object) -> ForecastQuery:
    return replace(QUESTION, plan=replace(PLAN, **changes))  # type: ignore[arg-type]


def answer(minutes: int = 20, *, job_id: int = 12) -> str:
    start = (NOW + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S")
    return (
        f"sbatch: Job {job_id} to start at {start} using 8 processors on nodes node01 "
        "in partition jupyter\n"
    )


class Cluster:
    """Answers questions, counts them, and keeps the time."""

    def __init__(self) -> None:
        self.questions: list[ForecastQuery] = []
        self.answer: str | Exception = answer()
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.time_s = 1000.0

    async def ask(self, question: ForecastQuery) -> str:
        self.questions.append(question)
        await self.may_answer.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def forecaster(self, asks_per_minute: int = 12) -> Forecaster:
        return Forecaster(
            self.ask,
            clock=lambda: self.time_s,
            now=lambda: NOW + timedelta(seconds=self.time_s - 1000),
            asks_per_minute=asks_per_minute,
            fresh_s=60.0,
        )


def test_the_start_that_slurm_forecasts_is_read_in_its_time_zone() -> None:
    assert parse_test_only(answer(20), NOW) == NOW + timedelta(minutes=20)


def test_a_start_in_the_past_means_now() -> None:
    assert parse_test_only(answer(-5), NOW) == NOW


def test_the_line_of_newer_releases_is_read() -> None:
    line = (
        "sbatch: Job 12 to start at 2026-11-20T14:20:00 on cluster lab a using 8 processors on "
        "nodes node01 in partition jupyter\n  Preempts: 7,8\n"
    )
    assert parse_test_only(line, NOW) == NOW + timedelta(minutes=20)


def test_a_refusal_is_put_into_words() -> None:
    refusal = parse_test_only(
        "allocation failure: Requested node configuration is not available\n", NOW
    )
    assert isinstance(refusal, Rejection)
    assert "fewer GPUs" in refusal.diagnosis.next_step


def test_no_answer_from_slurm_is_no_refusal() -> None:
    with pytest.raises(SlurmUnavailableError):
        parse_test_only(
            "allocation failure: Unable to contact slurm controller (connect failure)", NOW
        )


@pytest.mark.parametrize("stderr", ["", "hello", "sbatch: Job 12 to start at Unknown"])
def test_a_text_without_a_forecast_is_an_error(stderr: str) -> None:
    with pytest.raises(SlurmError):
        parse_test_only(stderr, NOW)


def test_everything_that_a_real_slurm_printed_is_read() -> None:
    starts, refusals = 0, 0
    for block in GOLDEN.read_text(encoding="utf-8").split("$ sbatch --test-only ")[1:]:
        output, _, exit_code = block.rpartition("# exit ")
        outcome = parse_test_only(output, NOW)
        assert isinstance(outcome, Rejection) == (exit_code.strip() == "1")
        starts += isinstance(outcome, datetime)
        refusals += isinstance(outcome, Rejection)
    assert (starts, refusals) == (5, 5)


async def test_an_answer_is_given_again_while_it_is_fresh() -> None:
    cluster = Cluster()
    forecaster = cluster.forecaster()
    first = await forecaster.forecast(QUESTION)
    cluster.time_s += 59
    assert await forecaster.forecast(QUESTION) == first
    assert len(cluster.questions) == 1
    cluster.time_s += 2
    cluster.answer = answer(30)
    again = await forecaster.forecast(QUESTION)
    assert again is not None
    assert again.answer == NOW + timedelta(minutes=30)


async def test_another_size_user_or_partition_is_another_question() -> None:
    cluster = Cluster()
    forecaster = cluster.forecaster()
    for question in (
        QUESTION,
        about(resources=ResourceSettings().per_gpu.resources(2)),
        replace(QUESTION, user="grace"),
        about(partition="long"),
        about(walltime_s=3600),
        replace(QUESTION, account="lab"),
        about(names=(("qos", "long"),)),
    ):
        await forecaster.forecast(question)
    assert len(cluster.questions) == 7


async def test_slurm_is_asked_only_so_often_a_minute() -> None:
    cluster = Cluster()
    forecaster = cluster.forecaster(asks_per_minute=3)
    for n_gpus in range(10):
        await forecaster.forecast(about(resources=ResourceSettings().per_gpu.resources(n_gpus)))
    assert len(cluster.questions) == 3
    cluster.time_s += 20
    for n_gpus in range(10, 20):
        await forecaster.forecast(about(resources=ResourceSettings().per_gpu.resources(n_gpus)))
    assert len(cluster.questions) == 4
    cluster.time_s += 3600
    for n_gpus in range(20, 30):
        await forecaster.forecast(about(resources=ResourceSettings().per_gpu.resources(n_gpus)))
    assert len(cluster.questions) == 7


async def test_an_old_answer_is_better_than_none_but_not_for_ever() -> None:
    cluster = Cluster()
    forecaster = cluster.forecaster()
    first = await forecaster.forecast(QUESTION)
    cluster.answer = SlurmUnavailableError("Slurm did not answer.")
    cluster.time_s += 500
    assert await forecaster.forecast(QUESTION) == first
    cluster.time_s += 200
    assert await forecaster.forecast(QUESTION) is None


async def test_without_any_answer_nothing_is_claimed() -> None:
    cluster = Cluster()
    cluster.answer = SlurmUnavailableError("Slurm did not answer.")
    assert await cluster.forecaster().forecast(QUESTION) is None


async def test_a_refusal_raised_by_the_submitting_side_is_an_answer_too() -> None:
    cluster = Cluster()
    cluster.answer = JobRejectedError(
        "Slurm refused.", stderr="allocation failure: Requested reservation is invalid"
    )
    forecast = await cluster.forecaster().forecast(QUESTION)
    assert forecast is not None
    assert isinstance(forecast.answer, Rejection)
    assert "reservation" in forecast.answer.diagnosis.sentence


async def test_users_of_one_account_share_an_answer() -> None:
    cluster = Cluster()
    forecaster = cluster.forecaster()
    ada = replace(QUESTION, account="research")

    first = await forecaster.forecast(ada)
    second = await forecaster.forecast(replace(ada, user="grace"))

    assert first == second is not None
    assert [question.user for question in cluster.questions] == ["ada"]


async def test_users_whose_account_is_not_known_share_nothing() -> None:
    cluster = Cluster()
    forecaster = cluster.forecaster()

    await forecaster.forecast(QUESTION)
    await forecaster.forecast(replace(QUESTION, user="grace"))

    assert [question.user for question in cluster.questions] == ["ada", "grace"]


async def test_a_refusal_is_nobody_elses() -> None:
    cluster = Cluster()
    cluster.answer = "allocation failure: Requested node configuration is not available\n"
    forecaster = cluster.forecaster()
    ada = replace(QUESTION, account="research")
    refused = await forecaster.forecast(ada)
    cluster.answer = answer(20)

    granted = await forecaster.forecast(replace(ada, user="grace"))

    assert refused is not None
    assert isinstance(refused.answer, Rejection)
    assert granted is not None
    assert granted.answer == NOW + timedelta(minutes=20)
    assert await forecaster.forecast(ada) == refused


async def test_slurm_is_never_asked_where_the_site_allows_no_questions() -> None:
    cluster = Cluster()

    assert await cluster.forecaster(asks_per_minute=0).forecast(QUESTION) is None
    assert cluster.questions == []


def test_a_forecast_asks_with_the_options_of_the_session_and_another_script() -> None:
    plan = replace(
        PLAN,
        job_name="dsportal-0123456789abcdef",
        server_argv=("/opt/server", "--debug"),
        gpu_type="v100",
        names=(("qos", "interactive"),),
        warning_s=600,
        prologue="module load cuda",
        extra_options=("--constraint=v100",),
    )

    submitted, asked = (
        build_job(plan),
        build_job(forecast_query(plan, offer_to("ada")).plan),
    )

    assert asked.argv == ("--job-name=dsportal-forecast", *submitted.argv[1:])
    assert asked.script.endswith("exec true\n")
    assert "module" not in asked.script


async def test_who_names_the_default_account_shares_the_answer_of_those_who_name_none() -> None:
    cluster = Cluster()
    forecaster = cluster.forecaster()
    rows = (Association(account="research", is_default=True),)
    own = offer_to("ada", Associations(by_user={"ada": rows}))

    named = replace(PLAN, names=(("account", "research"),))

    await forecaster.forecast(forecast_query(PLAN, own))
    await forecaster.forecast(forecast_query(named, offer_to("grace")))

    assert [question.plan for question in cluster.questions] == [PLAN], "as it would be submitted"
