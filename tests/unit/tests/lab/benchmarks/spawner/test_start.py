"""What chance adds to a start is told apart from what the ways differ in."""

import pytest

from tests.lab.benchmarks.spawner.start import Start, Way, even_out, parse_wait_s

LOG = """\
[2026-11-23T02:46:57.412] _slurm_rpc_submit_batch_job: JobId=881 InitPrio=4294900883 usec=1869
[2026-11-23T02:46:58.291] sched: Allocate JobId=881 NodeList=node01 #CPUs=1 Partition=jupyter
[2026-11-23T02:47:11.020] _job_complete: JobId=881 WTERMSIG 15
"""
BACKFILLED = """\
[2026-11-23T03:17:14.185] _slurm_rpc_submit_batch_job: JobId=887 InitPrio=4294900877 usec=3053
[2026-11-23T03:17:14.610] sched/backfill: _start_job: Started JobId=887 in jupyter on node01
"""


def test_the_wait_is_the_time_from_submission_to_start_in_slurmctlds_log() -> None:
    assert parse_wait_s(LOG) == pytest.approx(0.879)
    assert parse_wait_s(BACKFILLED) == pytest.approx(0.425)


@pytest.mark.parametrize("log", ["", LOG + BACKFILLED, LOG.partition("\n")[0]])
def test_a_log_without_exactly_one_start_is_no_figure(log: str) -> None:
    with pytest.raises(ValueError, match="unpack"):
        parse_wait_s(log)


def test_every_start_counts_with_the_same_wait() -> None:
    starts = {
        Way.PORTAL: [Start(took_s=1.9, waited_s=0.9), Start(took_s=1.2, waited_s=0.1)],
        Way.BARE: [Start(took_s=1.2, waited_s=0.4), Start(took_s=1.5, waited_s=0.6)],
    }

    evened = even_out(starts)

    assert list(evened[Way.PORTAL].values) == pytest.approx([1.5, 1.6])
    assert list(evened[Way.BARE].values) == pytest.approx([1.3, 1.4])
