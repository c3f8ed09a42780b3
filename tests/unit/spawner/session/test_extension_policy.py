"""The site's policy of extensions, and the program that carries them out."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from spawner.errors import ExtensionError
from spawner.hub import extend_session
from spawner.programs import extend_time_limit
from spawner.programs.extend_time_limit import RequestError, read_request
from spawner.session.extension_policy import (
    ExtensionPolicy,
    WalltimeLimit,
    check_queue,
    check_times,
    decide_limit,
)
from spawner.session.session import Session, job_comment
from spawner.slurm.associations import Associations
from spawner.slurm.jobs import JobKey, WaitingJob
from spawner.slurm.squeue import RunningJob, parse_running_jobs

HOUR = 3600
POLICY = ExtensionPolicy(
    step_s=2 * HOUR, most_s=12 * HOUR, most_times=2, is_allowed_while_others_wait=False
)
ORDER = {
    "verb": "extend",
    "job_id": 42,
    "user_id": 20001,
    "job_name": "dsportal-0123456789abcdef",
    "comment": "data-scientist-portal hub=0123456789ab",
    "minutes": 600,
}


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


def test_a_running_job_is_read_with_its_limit_and_marks() -> None:
    line = (
        "m|42|ada|20001|RUNNING|1-02:00:00|1-01:59:30|2026-11-21T22:00:00|jupyter|normal|(null)|"
        "dsportal-01|a | b"
    )

    (job,) = parse_running_jobs(line, "m")

    assert (job.limit_s, job.user_id, job.partition) == (26 * HOUR, 20001, "jupyter")
    assert (job.left_s, job.ends_at) == (26 * HOUR - 30, "2026-11-21T22:00:00")
    assert (job.qos, job.account, job.comment) == ("normal", "", "a | b")


@pytest.mark.parametrize(
    "line",
    [
        "x|42|ada|20001|RUNNING|2:00:00|1:59:00|2026-11-21T22:00:00|jupyter|normal|a|dsportal-01|c",
        "m|42|ada|20001|PENDING|2:00:00|2:00:00|N/A|jupyter|normal|a|dsportal-01|c",
        "m|42|ada|20001|RUNNING|soon|1:59:00|2026-11-21T22:00:00|jupyter|normal|a|dsportal-01|c",
        "",
    ],
)
def test_lines_of_another_form_are_no_running_job(line: str) -> None:
    assert list(parse_running_jobs(line, "m")) == []


def test_the_extender_takes_an_order_with_all_its_marks() -> None:
    assert read_request(json.dumps(ORDER).encode()).minutes == 600


@pytest.mark.parametrize(
    "change",
    [
        {"verb": "cancel"},
        {"job_id": "42"},
        {"job_id": -1},
        {"job_id": True},
        {"user_id": 0},
        {"minutes": 0},
        {"minutes": 10**9},
        {"minutes": 60.5},
        {"job_name": "other-0123456789abcdef"},
        {"job_name": "dsportal-0123456789abcdef\n"},
        {"job_name": "dsportal-0123456789abcdef Partition=x"},
        {"comment": "mine"},
        {"comment": None},
        {"partition": "other"},
    ],
)
def test_the_extender_refuses_an_order_of_another_form(change: dict[str, object]) -> None:
    with pytest.raises(RequestError):
        read_request(json.dumps(ORDER | change).encode())


@pytest.mark.parametrize(
    ("printed", "is_found"),
    [
        ("42|20001|RUNNING|8:00:00|{job_name}|{comment}", True),
        ("42|20002|RUNNING|8:00:00|{job_name}|{comment}", False),
        ("42|20001|PENDING|8:00:00|{job_name}|{comment}", False),
        ("42|20001|RUNNING|8:00:00|dsportal-fedcba9876543210|{comment}", False),
        ("42|20001|RUNNING|8:00:00|{job_name}|another", False),
    ],
)
def test_the_extender_changes_only_the_job_with_all_marks(
    monkeypatch: pytest.MonkeyPatch, printed: str, is_found: bool
) -> None:
    changed = []

    def run(argv: list[str]) -> dict[str, object]:
        if argv[0] == "scontrol":
            changed.append(argv[1:])
        mark = argv[-1].partition("=")[2].partition("|")[0]
        line = printed.format(**ORDER)
        forged = f"x\n42|20001|RUNNING|8:00:00|{ORDER['job_name']}|{ORDER['comment']}"
        return {"ok": True, "exit_code": 0, "stdout": f"{forged}\n{mark}|{line}\n", "stderr": ""}

    monkeypatch.setattr(extend_time_limit, "_run", run)

    answer = extend_time_limit.extend(read_request(json.dumps(ORDER).encode()))

    assert answer["found"] is is_found
    assert changed == ([["update", "JobId=42", "TimeLimit=600"]] if is_found else [])


def test_the_extender_never_shortens(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(argv: list[str]) -> dict[str, object]:
        mark = argv[-1].partition("=")[2].partition("|")[0]
        line = f"{mark}|42|20001|RUNNING|1-00:00:00|{ORDER['job_name']}|{ORDER['comment']}"
        return {"ok": True, "exit_code": 0, "stdout": line, "stderr": ""}

    monkeypatch.setattr(extend_time_limit, "_run", run)

    with pytest.raises(RequestError, match="already"):
        extend_time_limit.extend(read_request(json.dumps(ORDER).encode()))


async def test_the_answer_says_the_new_end_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    job = RunningJob(
        key=JobKey(job_id=42, user="ada", name="dsportal-0"),
        user_id=20001,
        limit_s=8 * HOUR,
        left_s=7 * HOUR,
        ends_at="2026-11-21T22:00:00",
        partition="jupyter",
        qos="",
        account="",
        comment=job_comment("hub"),
    )
    lengthened = []

    class Limits:
        def __init__(self, **settings: object) -> None:
            pass

        async def read_job(self, key: JobKey) -> RunningJob:
            return job

        async def list_waiting(self, partition: str) -> tuple[WaitingJob, ...]:
            return ()

        async def set_time_limit(self, job: RunningJob, limit_s: int) -> bool:
            lengthened.append(limit_s)
            return True

    class Ceilings:
        async def read_associations(self) -> Associations:
            return Associations()

    async def read_catalog() -> object:
        return SimpleNamespace(partitions={"jupyter": SimpleNamespace(max_walltime_s=None)})

    said: dict[str, object] = {}
    spawner = SimpleNamespace(
        **dict.fromkeys(("extender_argv", "sudo_argv"), ()),
        slurm_user="slurm",
        slurm_timeout_s=1.0,
        extension_hours=2.0,
        max_extended_hours=12.0,
        max_extensions=2,
        extend_while_others_wait=False,
        extension_lock=asyncio.Lock(),
        session=Session(session_id="0", user="ada", job_id=42, walltime_s=8 * HOUR),
        cluster=SimpleNamespace(hub="hub", slurm=SimpleNamespace(accounting=Ceilings())),
        read_catalog=read_catalog,
        change_session=lambda **changes: said.update(changes),
        set_end=lambda **end: said.update(end),
    )
    monkeypatch.setattr(extend_session, "TimeLimits", Limits)

    await extend_session.extend_session(spawner)  # type: ignore[arg-type]

    assert lengthened == [10 * HOUR]
    assert said == {
        "walltime_s": 10 * HOUR,
        "n_extensions": 1,
        "left_s": 9 * HOUR,
        "ends_at": "2026-11-22T00:00:00",
    }
