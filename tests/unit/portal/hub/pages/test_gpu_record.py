"""The use of GPUs that sessions report, by user and job, filled in where accounting has none."""

from datetime import datetime
from pathlib import Path

import pytest

from portal.hub.pages.gpu_record import GpuRecord
from spawner.slurm.sacct import Allocation

NOON = datetime(2026, 11, 20, 12)
DAY_S = 86_400.0


@pytest.fixture
def record(tmp_path: Path) -> GpuRecord:
    return GpuRecord(tmp_path / "gpu-use.sqlite")


def job(job_id: int, gpu_percent: float | None = None) -> Allocation:
    return Allocation(
        starts_at=NOON, ends_at=NOON, n_gpus=1, job_id=job_id, gpu_percent=gpu_percent
    )


def test_the_last_report_of_a_job_counts_and_only_for_its_user(record: GpuRecord) -> None:
    record.keep("ada", {7: 10.0, 8: 20.0}, at_s=0)
    record.keep("ada", {7: 30.0}, at_s=600)
    record.keep("grace", {7: 99.0}, at_s=600)

    assert record.read("ada") == {("ada", 7): 30.0, ("ada", 8): 20.0}
    assert record.read() == record.read("ada") | {("grace", 7): 99.0}


def test_a_job_of_another_cluster_with_the_same_id_is_another_job(record: GpuRecord) -> None:
    record.keep("ada", {7: 10.0}, at_s=0)
    record.on("volta").keep("ada", {7: 90.0}, at_s=0)

    assert (record.on("").read(), record.on("volta").read()) == (
        {("ada", 7): 10.0},
        {("ada", 7): 90.0},
    )


def test_accounting_knows_better_and_what_nobody_measured_stays_unknown(
    record: GpuRecord,
) -> None:
    record.keep("ada", {7: 0.0, 8: 20.0}, at_s=0)

    filled = record.fill_in("ada", [job(7), job(8, gpu_percent=50.0), job(9)])

    assert [one.gpu_percent for one in filled] == [0.0, 50.0, None]


def test_without_a_report_or_with_a_broken_file_nothing_was_measured(
    record: GpuRecord, tmp_path: Path
) -> None:
    assert record.read() == {}
    assert list(tmp_path.iterdir()) == [], "a look makes no file, which would be root's"

    (tmp_path / "gpu-use.sqlite").write_text("no database" * 100)
    assert record.read() == {}


def test_others_do_not_read_the_file(record: GpuRecord, tmp_path: Path) -> None:
    record.keep("ada", {7: 1.0}, at_s=0)

    assert (tmp_path / "gpu-use.sqlite").stat().st_mode & 0o077 == 0


def test_a_user_has_room_for_some_thousand_jobs_of_the_last_year(record: GpuRecord) -> None:
    record.keep("ada", {1: 5.0}, at_s=0)
    record.keep("ada", dict.fromkeys(range(2, 7000), 5.0), at_s=300 * DAY_S)
    record.keep("grace", {1: 5.0}, at_s=300 * DAY_S)
    record.keep("ada", {7001: 5.0}, at_s=301 * DAY_S)

    n_kept = len(record.read("ada"))
    assert n_kept < 7000
    assert ("ada", 7001) in record.read("ada")
    record.keep("ada", {7002: 5.0}, at_s=800 * DAY_S)
    assert set(record.read()) == {("ada", 7002)}
