"""What Slurm's daemons counted is read by user."""

from __future__ import annotations

from tests.benchmarks.spawner.load import parse_rpcs

SDIAG = """\
Remote Procedure Call statistics by message type
\tREQUEST_JOB_INFO                        ( 2003) count:6      ave_time:994    total_time:5967

Remote Procedure Call statistics by user
\tdsportal        (     999) count:122    ave_time:622    total_time:75967
\tada             (   20001) count:37     ave_time:2551   total_time:94406

Pending RPC statistics
\tNo pending RPCs
"""


def test_requests_are_counted_for_each_user_and_not_twice_by_their_type() -> None:
    assert parse_rpcs(SDIAG) == {"dsportal": 122, "ada": 37}


def test_a_daemon_that_nobody_has_asked_has_no_requests() -> None:
    assert not parse_rpcs("")
