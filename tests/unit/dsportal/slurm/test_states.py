import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsportal.slurm.states import JobState, Phase, parse_cancelled_by, parse_state

# Long name, short code and meaning, in the order of squeue(1).
SLURM_STATES = [
    ("BOOT_FAIL", "BF", Phase.OVER),
    ("CANCELLED", "CA", Phase.OVER),
    ("COMPLETED", "CD", Phase.OVER),
    ("CONFIGURING", "CF", Phase.WAITING),
    ("COMPLETING", "CG", Phase.OVER),
    ("DEADLINE", "DL", Phase.OVER),
    ("FAILED", "F", Phase.OVER),
    ("NODE_FAIL", "NF", Phase.OVER),
    ("OUT_OF_MEMORY", "OOM", Phase.OVER),
    ("PENDING", "PD", Phase.WAITING),
    ("PREEMPTED", "PR", Phase.OVER),
    ("RUNNING", "R", Phase.RUNNING),
    ("RESV_DEL_HOLD", "RD", Phase.WAITING),
    ("REQUEUE_FED", "RF", Phase.WAITING),
    ("REQUEUE_HOLD", "RH", Phase.WAITING),
    ("REQUEUED", "RQ", Phase.WAITING),
    ("RESIZING", "RS", Phase.RUNNING),
    ("REVOKED", "RV", Phase.OVER),
    ("SIGNALING", "SI", Phase.RUNNING),
    ("SPECIAL_EXIT", "SE", Phase.WAITING),
    ("STAGE_OUT", "SO", Phase.OVER),
    ("STOPPED", "ST", Phase.RUNNING),
    ("SUSPENDED", "S", Phase.RUNNING),
    ("TIMEOUT", "TO", Phase.OVER),
]


@pytest.mark.parametrize(
    ("long_name", "short", "phase"), SLURM_STATES, ids=[s[0] for s in SLURM_STATES]
)
def test_each_state_is_known_by_both_names(long_name: str, short: str, phase: Phase) -> None:
    state = JobState[long_name]
    assert parse_state(long_name) is state
    assert parse_state(short) is state
    assert parse_state(long_name.lower()) is state
    assert state.phase is phase


def test_no_state_is_left_without_a_decision() -> None:
    undecided = {state.name for state in JobState if state.phase is Phase.UNKNOWN}
    assert undecided == {
        "UNKNOWN",
        "LAUNCH_FAILED",
        "RECONFIG_FAIL",
        "UPDATE_DB",
    }


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("CANCELLED by 20001", JobState.CANCELLED),
        ("CANCELLED+", JobState.CANCELLED),
        ("CANCELLED by 0", JobState.CANCELLED),
        ("OUT_OF_ME+", JobState.OUT_OF_MEMORY),
        ("OUT_OF_MEMORY+", JobState.OUT_OF_MEMORY),
        ("CONFIGURI+", JobState.CONFIGURING),
        ("COMPLETED+", JobState.COMPLETED),
        (" RUNNING \n", JobState.RUNNING),
        ("REQUEUE_H+", JobState.REQUEUE_HOLD),
    ],
)
def test_sacct_texts_are_read(text: str, state: JobState) -> None:
    assert parse_state(text) is state


@pytest.mark.parametrize(
    "text", ["", "   ", "+", "C+", "COMPLET+", "HIBERNATED", "?", "slurm_load_jobs error", "RUN"]
)
def test_text_that_is_no_state_is_unknown_and_never_over(text: str) -> None:
    assert parse_state(text) is JobState.UNKNOWN
    assert parse_state(text).phase is Phase.UNKNOWN


@given(st.text())
def test_any_text_gives_a_state(text: str) -> None:
    assert isinstance(parse_state(text), JobState)


@pytest.mark.parametrize(
    ("text", "uid"),
    [("CANCELLED by 20001", 20001), ("CANCELLED by 0", 0), ("CANCELLED", None), ("FAILED", None)],
)
def test_who_cancelled_is_read_from_sacct(text: str, uid: int | None) -> None:
    assert parse_cancelled_by(text) == uid
