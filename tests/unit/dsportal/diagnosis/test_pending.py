from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsportal.diagnosis import Situation, explain_waiting
from dsportal.slurm.states import JobState
from tests.support.load_file import load_file

DOCS = Path(__file__).parents[4] / "docs"
REASONS = (DOCS / "slurm-reasons.txt").read_text(encoding="utf-8").split()


def test_the_list_of_slurms_reasons_is_whole() -> None:
    assert len(REASONS) == len(set(REASONS)) > 200
    assert {"Priority", "Resources", "QOSMaxGRESPerUser", "NvidiaImexChannels"} < set(REASONS)


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_of_slurm_has_words_and_a_next_step(reason: str) -> None:
    diagnosis = explain_waiting(reason)
    assert "Slurm calls" not in diagnosis.sentence
    assert reason == "None" or reason not in str(diagnosis).split()
    assert diagnosis.sentence.endswith(".")
    assert diagnosis.next_step.endswith(".")
    assert "{" not in str(diagnosis)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Priority", "ahead of the session"),
        ("(Resources)", "in use by other jobs"),
        ("None", "has not considered it yet"),
        ("", "has not considered it yet"),
        ("(null)", "has not considered it yet"),
        ("ReqNodeNotAvail, UnavailableNodes:node01", "are down: node01."),
        ("(ReqNodeNotAvail, UnavailableNodes:node[01-02])", "are down: node[01-02]."),
        ("ReqNodeNotAvail,_UnavailableNodes:node01", "are down: node01."),
        ("ReqNodeNotAvail, UnavailableNodes:", "not available now"),
        ("ReqNodeNotAvail, May be reserved for other job", "reserved for another job"),
        ("ReqNodeNotAvail,_Reserved_for_maintenance", "maintenance"),
        (
            "(Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority "
            "partitions)",
            "down, drained or reserved",
        ),
        (
            "Nodes required for job are DOWN, DRAINED, REBOOTING or reserved for jobs in higher "
            "priority partitions",
            "restarting",
        ),
        ("launch failed requeued held", "could not be started on it"),
        ("launch_failure_limit_exceeded_requeued_held", "could not be started on it"),
        ("user env retrieval failed requeued held", "login environment"),
        ("job requeued in held state", "put back in the queue"),
        ("job requeued in special exit state", "put back in the queue"),
        ("Reservation course was deleted", "was deleted"),
        ("Reservation course, which this job was running under, has ended", "has ended"),
        (
            "uid 20001 not in group permitted to use this partition (big). groups allowed: staff",
            "Your groups may not use",
        ),
        ("burst_buffer/lua: pre_run: no space", "fast storage"),
        ("RaisedSignal:53(Real-time_signal_19)", "ended by a signal"),
    ],
)
def test_reasons_in_every_form_that_slurm_prints_are_understood(reason: str, words: str) -> None:
    assert words in explain_waiting(reason).sentence


@pytest.mark.parametrize(
    ("reason", "sentence", "next_step"),
    [
        ("QOSMaxGRESPerUser", "your limit on GPUs", "Stop another of your sessions"),
        ("QOSMaxTRESPerUser", "your limit on resources", "Stop another of your sessions"),
        ("AssocGrpGRES", "jobs of your account together", "starts by itself"),
        ("QOSGrpGRES", "quality of service (QOS) together", "starts by itself"),
        ("MaxGRESPerAccount", "jobs of your account together", "starts by itself"),
        ("QOSMaxGRESPerJob", "more GPUs than one session may have", "fewer GPUs"),
        ("AssocMaxMemPerNode", "more memory on a node", "fewer GPUs"),
        ("AssocMaxWallDurationPerJobLimit", "more time than one session", "fewer hours"),
        ("AssocGrpGRESMinutes", "account has not enough GPU minutes left", "administrators"),
        ("QOSGrpWallLimit", "has not enough session time left", "administrators"),
        ("AssocGrpGRESRunMinutes", "running jobs of your account", "starts by itself"),
        ("MaxGRESRunMinsPerUser", "Your running jobs", "starts by itself"),
        ("QOSMaxJobsPerUserLimit", "your limit on running jobs", "Stop another"),
        ("AssocMaxSubmitJobLimit", "running and waiting jobs", "Stop another"),
        ("QOSMinGRES", "fewer GPUs than", "more GPUs"),
        (
            "Job is at or exceeds QOS normal's group max TRES(gres/gpu) minutes of 600 with 612",
            "quality of service (QOS) has not enough GPU minutes left",
            "administrators",
        ),
        (
            "Job is at or exceeds association (acc=lab/user=ada/part=) group wall limit 5 with 6",
            "account has not enough session time left",
            "administrators",
        ),
    ],
)
def test_limits_say_whose_and_of_what(reason: str, sentence: str, next_step: str) -> None:
    diagnosis = explain_waiting(reason)
    assert sentence in diagnosis.sentence
    assert next_step in diagnosis.next_step


def test_a_limit_on_gpus_names_what_is_held_and_the_limit() -> None:
    diagnosis = explain_waiting(
        "QOSMaxGRESPerUser", Situation(n_gpus=2, n_gpus_held=3, n_gpus_limit=4)
    )
    assert (
        diagnosis.sentence
        == "You hold 3 GPUs and ask for 2 more, but the limit is 4 GPUs at a time."
    )


def test_a_session_larger_than_the_limit_is_not_told_to_wait() -> None:
    diagnosis = explain_waiting("QOSMaxGRESPerUser", Situation(n_gpus=6, n_gpus_limit=4))
    assert diagnosis.sentence == "You asked for 6 GPUs, but the limit is 4 GPUs at a time."
    assert diagnosis.next_step == "Cancel this start and start again with 4 GPUs or fewer."


def test_a_time_limit_names_what_was_asked_and_what_is_allowed() -> None:
    diagnosis = explain_waiting(
        "PartitionTimeLimit",
        Situation(partition="jupyter", walltime_s=100_800, max_walltime_s=86_400),
    )
    assert "(28 hours)" in diagnosis.sentence
    assert "partition jupyter allows (24 hours)" in diagnosis.sentence


def test_a_node_that_boots_is_not_called_a_place_in_the_queue() -> None:
    diagnosis = explain_waiting("None", state=JobState.CONFIGURING)
    assert "is being powered up" in diagnosis.sentence
    assert "queue" not in diagnosis.sentence


def test_an_unknown_reason_is_quoted_and_not_guessed_at() -> None:
    diagnosis = explain_waiting("QuantumFluxTooLow")
    assert diagnosis.sentence == (
        'The session is waiting for a reason that Slurm calls "QuantumFluxTooLow".'
    )
    assert "administrators" in diagnosis.next_step


@given(st.text(max_size=500))
def test_any_reason_gives_one_line_of_bounded_length(reason: str) -> None:
    text = str(explain_waiting(reason))
    assert text.isprintable()
    assert len(text) < 700


def test_the_page_for_users_is_what_the_portal_says() -> None:
    """Run "python docs/make_reasons.py" after a change of words."""
    module = load_file(DOCS / "make_reasons.py")
    for name, text in module.render_reasons().items():
        assert (DOCS / f"reference/{name}.md").read_text(encoding="utf-8") == text, name
