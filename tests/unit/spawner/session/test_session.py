"""What the hub's database keeps of a session."""

import json
from dataclasses import replace

from dsportal.slurm.states import JobState
from spawner.session.session import Session, identify_hub, job_comment, read_session_id
from spawner.slurm.jobs import JobKey, JobRecord


def new_session() -> Session:
    return Session(user="ada", n_gpus=2, memory_mib=98304, walltime_s=28800, token_id=7)


def test_a_session_survives_the_database() -> None:
    session = replace(new_session(), job_id=42, port=31000, address="10.77.0.11", is_ready=True)

    assert Session.from_state(json.loads(json.dumps(session.to_state()))) == session


def test_two_sessions_never_have_the_same_mark() -> None:
    assert new_session().session_id != new_session().session_id


def test_a_state_of_another_spawner_or_release_holds_no_session_or_the_known_part() -> None:
    assert Session.from_state({}) is None
    assert Session.from_state({"job_id": "42", "job_status": "RUNNING n1"}) is None
    assert Session.from_state({"session": None}) is None
    later = {"session": {"session_id": "ab", "user": "ada", "job_id": 3, "colour": "blue"}}
    assert Session.from_state(later) == Session(session_id="ab", user="ada", job_id=3)


def record_of(session: Session, comment: str) -> JobRecord:
    return JobRecord(
        key=session.key, state=JobState.RUNNING, node="n1", starts_at="", comment=comment, reason=""
    )


def test_a_hub_knows_its_own_jobs_from_those_of_another_hub() -> None:
    mine, other = identify_hub(b"a" * 32), identify_hub(b"b" * 32)
    session = new_session()

    assert read_session_id(record_of(session, job_comment(mine)), mine) == session.session_id
    assert read_session_id(record_of(session, job_comment(other)), mine) is None
    assert read_session_id(record_of(session, ""), mine) is None


def test_a_job_with_the_comment_but_another_name_is_no_session() -> None:
    hub = identify_hub(b"a" * 32)
    record = JobRecord(
        key=JobKey(job_id=1, user="ada", name="train"),
        state=JobState.RUNNING,
        node="n1",
        starts_at="",
        comment=job_comment(hub),
        reason="",
    )

    assert read_session_id(record, hub) is None


def test_the_name_of_a_hub_does_not_give_away_its_secret() -> None:
    assert "secret" not in identify_hub(b"secret")
    assert len(identify_hub(b"secret")) == 12
