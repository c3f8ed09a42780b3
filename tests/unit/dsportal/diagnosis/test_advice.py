"""A next step names only what its user can do."""

import itertools

import pytest

from dsportal.diagnosis import explain_rejection, explain_waiting
from dsportal.diagnosis.ended import END_REASONS
from dsportal.diagnosis.messages import JOB, SESSION, Situation, diagnose
from dsportal.diagnosis.pending_reasons import WAITING_REASONS
from dsportal.diagnosis.rejected_texts import REJECTIONS

SMALLEST = Situation(
    n_gpus=1,
    walltime_s=3600,
    gpu_type="",
    has_other_gpu_type=False,
    has_other_partition=False,
)
TABLES = {
    **WAITING_REASONS,
    **END_REASONS,
    **{texts[0]: words for texts, words in REJECTIONS.items()},
}
IMPOSSIBLE = ("fewer GPUs", "fewer hours", "GPU type", "another partition")


@pytest.mark.parametrize("name", TABLES)
def test_no_advice_is_beyond_a_session_of_one_gpu_where_there_is_no_choice(name: str) -> None:
    next_step = diagnose(TABLES[name], situation=SMALLEST).next_step

    assert next_step[0].isupper()
    assert next_step.endswith(".")
    assert "{" not in next_step.replace("{reason}", "").replace("{partition}", "")
    for words in IMPOSSIBLE:
        assert words not in next_step


@pytest.mark.parametrize(
    ("reason", "situation", "next_step"),
    [
        ("Resources", Situation(n_gpus=1), "No action is needed: the session starts by itself."),
        (
            "Priority",
            Situation(n_gpus=1, walltime_s=8 * 3600),
            "No action is needed: the session starts by itself. A session with fewer hours often "
            "starts earlier.",
        ),
        (
            "Priority",
            Situation(n_gpus=2, walltime_s=3600),
            "No action is needed: the session starts by itself. A session with fewer GPUs often "
            "starts earlier.",
        ),
        (
            "BadConstraints",
            Situation(n_gpus=1, gpu_type="a100"),
            "Cancel this start and start again without a GPU type.",
        ),
        ("BadConstraints", SMALLEST, "Cancel this start and ask the administrators."),
        (
            "PartitionConfig",
            Situation(),
            "Cancel this start and start again with fewer GPUs, fewer hours or in another "
            "partition.",
        ),
        ("PartitionInactive", SMALLEST, "Cancel this start and ask the administrators."),
        ("QOSMaxCpuPerJobLimit", SMALLEST, "Ask the administrators to raise the limit."),
        ("QOSMaxWallDurationPerJobLimit", SMALLEST, "Ask the administrators to raise the limit."),
        (
            "QOSMaxGRESPerJob",
            Situation(n_gpus=2, n_gpus_limit=1),
            "Cancel this start and start again with 1 GPU.",
        ),
    ],
)
def test_a_waiting_session_is_told_what_its_user_can_change(
    reason: str, situation: Situation, next_step: str
) -> None:
    assert explain_waiting(reason, situation).next_step == next_step


@pytest.mark.parametrize(
    ("stderr", "situation", "next_step"),
    [
        ("Invalid partition name specified", SMALLEST, "Ask the administrators."),
        (
            "Invalid generic resource (gres) specification",
            Situation(gpu_type="a100", has_other_gpu_type=False),
            "Start again without a GPU type.",
        ),
        (
            "Job violates accounting/QOS policy",
            SMALLEST,
            "Stop another of your sessions or jobs.",
        ),
        ("Requested nodes are busy", SMALLEST, "Try again later."),
    ],
)
def test_a_refused_session_is_told_what_its_user_can_change(
    stderr: str, situation: Situation, next_step: str
) -> None:
    assert explain_rejection(stderr, situation).next_step == next_step


def test_jobs_are_told_in_their_own_words() -> None:
    situations = [Situation(subject=subject) for subject in (SESSION, JOB)]
    steps = {explain_waiting("Resources", situation).next_step for situation in situations}

    assert steps == {
        f"No action is needed: the {noun} starts by itself. A {noun} with fewer GPUs often starts "
        "earlier."
        for noun in ("session", "job")
    }
    for words, situation in itertools.product(TABLES.values(), situations):
        assert "|" not in diagnose(words, situation=situation).next_step
