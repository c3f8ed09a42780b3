"""The waiting page and the failure page as they are without a script."""

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from portal.hub.pages.failure_view import describe_failure
from portal.hub.pages.start_view import START_STEPS, describe_start
from portal.hub.pages.time_tags import render_fact, render_time
from spawner.errors import JobRejectedError, PreflightError
from spawner.session.progress import Fact, Progress
from spawner.session.spawn_error import RESCUE_PAGE, StartFailedError

NOW = datetime(2026, 11, 20, 14, 20, tzinfo=timezone(timedelta(hours=1), "CET"))


def starting(*names: str) -> Any:
    progress = Progress(clock=NOW.timestamp)
    for name in names:
        progress.add_step(name, 10, f"It is {name}.")
    return SimpleNamespace(start_progress=progress)


def test_a_time_names_its_zone_and_another_day() -> None:
    tomorrow = NOW + timedelta(hours=10)

    assert render_time(NOW.timestamp(), NOW) == (
        f'<time datetime="2026-11-20T14:20:00+01:00" data-at="{NOW.timestamp():.0f}">'
        "14:20 CET</time>"
    )
    assert ">Sat 21 Nov, 00:20 CET<" in render_time(tomorrow.timestamp(), NOW)


def test_a_fact_is_text_with_times_in_it() -> None:
    fact = Fact(
        name="x", text="<b> now {1}; was {0}", times=(NOW.timestamp(), NOW.timestamp() + 60)
    )

    html = render_fact(fact, NOW)

    assert html.startswith("&lt;b&gt; now <time ")
    assert html.index("14:21") < html.index("14:20 CET")


def test_a_start_that_stands_in_line_shows_its_place_below_the_first_step() -> None:
    spawner = starting()
    spawner.start_progress.stand_in_line("Your start is number 7 of 20 in line.")

    view = describe_start(spawner, NOW)

    assert view.steps[0].state == "now"
    assert view.steps[0].message == "Your start is number 7 of 20 in line."
    assert view.log == ()


def test_the_steps_before_the_current_one_are_done() -> None:
    view = describe_start(starting("submitted", "queued", "running"), NOW)

    assert [step.state for step in view.steps] == ["done", "done", "now", "next", "next"]
    assert [step.message for step in view.steps if step.message] == ["It is running."]
    assert view.title == "Running on a node"
    assert [message for _, message in view.log] == [
        "It is submitted.",
        "It is queued.",
        "It is running.",
    ]


def test_a_start_of_which_nothing_is_told_yet_stands_at_the_first_step() -> None:
    view = describe_start(starting(), NOW)

    assert [step.state for step in view.steps] == ["now", *["next"] * (len(START_STEPS) - 1)]
    assert view.facts == ()


def failed(error: Exception, **options: object) -> Any:
    return describe_failure(error, SimpleNamespace(user_options=options, most_gpus=4))


def test_a_refusal_of_slurm_has_its_sentence_alone() -> None:
    view = failed(StartFailedError(JobRejectedError("Slurm says no. Ask for less.")), gpus="2")

    assert view.sentence == "Slurm says no. Ask for less."
    assert (view.next_step, view.facts, view.correction_query) == ("", (), "")


def test_a_full_home_leads_to_a_rescue_session() -> None:
    view = failed(
        StartFailedError(PreflightError("Your home is full.", needs_rescue=True)), gpus="2"
    )

    assert (view.correction.words, view.correction_query) == ("with a rescue session", "rescue=1")


def test_below_a_path_the_link_to_a_rescue_session_is_there_too() -> None:
    full = PreflightError("Your home is full.", needs_rescue=True)
    error = StartFailedError(full, rescue_url=f"/jupyter/hub/{RESCUE_PAGE}")

    assert 'href="/jupyter/hub/spawn?rescue=1"' in error.jupyterhub_html_message


@pytest.mark.parametrize("error", [None, RuntimeError("inside")])
def test_other_failures_are_left_to_jupyterhubs_words(error: Any) -> None:
    assert failed(error) is None
