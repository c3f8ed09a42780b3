"""What scontrol prints about a job and about reservations."""

from datetime import datetime

from dsportal.slurm.states import JobState
from spawner.slurm.jobs import JobKey
from spawner.slurm.scontrol import parse_reservations, parse_scontrol_job

KEY = JobKey(job_id=42, user="ada", name="dsportal-0123")


def test_scontrol_says_how_a_job_ended() -> None:
    ends = parse_scontrol_job(
        "JobId=42 JobName=dsportal-0123 UserId=ada(20001) GroupId=dsusers(20000) MCS_label=N/A "
        "JobState=FAILED Reason=NonZeroExitCode Dependency=(null) Requeue=0 ExitCode=7:0 "
        "BatchHost=node01 Comment=a JobState=COMPLETED ExitCode=0:0\n"
    )

    end = ends[KEY]
    assert end.state is JobState.FAILED
    assert (end.exit_code, end.reason, end.node) == (7, "NonZeroExitCode", "node01")


LINE = (
    "ReservationName=course StartTime=2026-11-21T08:11:27 EndTime=2026-11-21T10:11:27 "
    "Duration=02:00:00 Nodes=node01 NodeCnt=1 CoreCnt=40 Users=ada State=ACTIVE\n"
)


def test_a_reservation_is_read_with_its_times() -> None:
    (course,) = parse_reservations(LINE).values()

    assert course.name == "course"
    assert course.starts_at == datetime(2026, 11, 21, 8, 11, 27)
    assert course.ends_at == datetime(2026, 11, 21, 10, 11, 27)


def test_no_reservation_and_unreadable_times_are_none() -> None:
    assert parse_reservations("No reservations in the system\n") == {}
    assert parse_reservations(LINE.replace("2026-11-21T08:11:27", "Unknown")) == {}
