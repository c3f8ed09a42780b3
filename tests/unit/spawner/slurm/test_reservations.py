from __future__ import annotations

from datetime import datetime

from spawner.slurm.reservations import parse_reservations

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
