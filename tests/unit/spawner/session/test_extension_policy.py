"""The site's policy of extensions."""

from dataclasses import replace

import pytest

from spawner.errors import ExtensionError
from spawner.session.extension_policy import (
    ExtensionPolicy,
    WalltimeLimit,
    check_queue,
    check_times,
    decide_limit,
)
from spawner.slurm.jobs import WaitingJob

HOUR = 3600
POLICY = ExtensionPolicy(
    step_s=2 * HOUR, most_s=12 * HOUR, most_times=2, is_allowed_while_others_wait=False
)


def decide(limit_s: int, *ceilings: WalltimeLimit, policy: ExtensionPolicy = POLICY) -> int:
    return decide_limit(policy, limit_s=limit_s, n_extensions=0, ceilings=ceilings)


def test_an_extension_adds_the_sites_hours() -> None:
    assert decide(8 * HOUR, WalltimeLimit(what="The partition p", most_s=None)) == 10 * HOUR


def test_an_extension_is_cut_at_the_lowest_limit_rather_than_refused() -> None:
    partition = WalltimeLimit(what="The partition p", most_s=9 * HOUR)

    assert decide(8 * HOUR, partition) == 9 * HOUR


@pytest.mark.parametrize(
    ("limit_s", "ceiling", "sentence"),
    [
        (
            12 * HOUR,
            WalltimeLimit(what="The partition p", most_s=24 * HOUR),
            "This site allows 12 hours",
        ),
        (
            8 * HOUR,
            WalltimeLimit(what="The partition p", most_s=8 * HOUR),
            "partition p allows 8 hours",
        ),
        (8 * HOUR, WalltimeLimit(what="The QOS q", most_s=5 * HOUR), "The QOS q allows 5 hours"),
        (
            9 * HOUR - 60,
            WalltimeLimit(what="The QOS q", most_s=9 * HOUR),
            "The QOS q allows 9 hours",
        ),
    ],
)
def test_a_refusal_names_the_limit_and_the_next_step(
    limit_s: int, ceiling: WalltimeLimit, sentence: str
) -> None:
    with pytest.raises(ExtensionError, match=sentence) as caught:
        decide(limit_s, ceiling)

    assert "start a new session" in caught.value.message


def test_a_session_is_extended_only_so_often() -> None:
    check_times(POLICY, n_extensions=1)
    with pytest.raises(ExtensionError, match="already extended 2 times"):
        check_times(POLICY, n_extensions=2)
    with pytest.raises(ExtensionError, match="does not extend"):
        check_times(replace(POLICY, step_s=0), n_extensions=0)


@pytest.mark.parametrize(
    ("job", "is_refused"),
    [
        (WaitingJob(user="grace", reason="Resources"), True),
        (WaitingJob(user="grace", reason="Priority"), True),
        (WaitingJob(user="grace", reason="None"), True),
        (WaitingJob(user="grace", reason="ReqNodeNotAvail, UnavailableNodes:n1"), True),
        (WaitingJob(user="ada", reason="Resources"), False),
        (WaitingJob(user="grace", reason="JobHeldUser"), False),
        (WaitingJob(user="grace", reason="QOSMaxGRESPerUser"), False),
        (WaitingJob(user="grace", reason="Dependency"), False),
    ],
)
def test_others_who_wait_for_the_same_gpus_go_first(job: WaitingJob, is_refused: bool) -> None:
    def check(policy: ExtensionPolicy) -> None:
        check_queue(policy, user="ada", partition="p", waiting=(job,))

    check(replace(POLICY, is_allowed_while_others_wait=True))
    if not is_refused:
        check(POLICY)
        return
    with pytest.raises(ExtensionError, match="Another job is waiting for GPUs in partition p"):
        check(POLICY)
