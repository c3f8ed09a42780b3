"""The one program that extends a limit, without Slurm; tests/slurm has it with one."""

from __future__ import annotations

from typing import Any

import pytest

from spawner.programs import extend_time_limit
from spawner.programs.extend_time_limit import ExtensionRequest, extend

NAME, COMMENT = "dsportal-0123456789abcdef", "data-scientist-portal hub=0123456789ab"


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What was started after squeue, which prints a uid from 2 ** 31 on with a sign."""
    started: list[list[str]] = []

    def run(argv: list[str]) -> dict[str, Any]:
        line = ""
        if argv[0] == "squeue":
            mark = argv[-1].removeprefix("--format=").partition("|")[0]
            line = f"{mark}|42|-1294967295|RUNNING|8:00:00|{NAME}|{COMMENT}\n"
        else:
            started.append(argv)
        return {"ok": True, "exit_code": 0, "stdout": line, "stderr": ""}

    monkeypatch.setattr(extend_time_limit, "_run", run)
    return started


@pytest.mark.parametrize(("uid", "is_found"), [(3_000_000_001, True), (3_000_000_002, False)])
def test_only_the_job_of_this_uid_is_extended(
    programs: list[list[str]], uid: int, is_found: bool
) -> None:
    request = ExtensionRequest(job_id=42, user_id=uid, job_name=NAME, comment=COMMENT, minutes=540)

    assert extend(request)["found"] is is_found
    wanted = [["scontrol", "update", "JobId=42", "TimeLimit=540"]]
    assert programs == (wanted if is_found else [])
