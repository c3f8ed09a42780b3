"""Hubs that share Slurm's answers: one asks, and no hub ever has less than without the others."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from dsportal.slurm.listing import new_nonce
from spawner.client import shared_answers
from spawner.client.budgets import read_budgets
from spawner.client.command import Completed
from spawner.client.shared_answers import SHARED_S, SharedAnswers
from spawner.errors import SlurmUnavailableError
from spawner.slurm.catalog import SINFO_ARGV
from spawner.slurm.squeue import QUEUE, RECORDS, parse_queue

QUEUE_LINE = "{nonce}|7|100|jupyter|Priority|dsportal-1\n"


class Slurm:
    """Answers to all hubs, and counts."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.asked: list[tuple[str, ...]] = []
        self.is_down = False
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    async def ask(self, argv: Sequence[str]) -> Completed:
        self.asked.append(tuple(argv))
        if self.is_down:
            raise SlurmUnavailableError("Slurm does not answer.")
        await self.goes_on.wait()
        nonce = next((word[9:26] for word in argv if word.startswith("--format=m")), "")
        text = QUEUE_LINE.format(nonce=nonce) if nonce else f"answer {len(self.asked)}"
        return Completed(exit_code=0, stdout=text, stderr="")

    def hub(self, folder: Path) -> SharedAnswers:
        return SharedAnswers(folder, self.ask, clock=lambda: self.now_s)


def queue_argv() -> tuple[str, ...]:
    return ("squeue", "--all", "--states=PENDING", *QUEUE.options(new_nonce()))


async def test_one_hub_asks_and_the_other_reads_until_the_answer_is_old(tmp_path: Path) -> None:
    slurm = Slurm()
    one, other = slurm.hub(tmp_path / "slurm"), slurm.hub(tmp_path / "slurm")

    first = await one.query(SINFO_ARGV)
    slurm.now_s += SHARED_S[SINFO_ARGV] - 0.1
    assert await other.query(SINFO_ARGV) == first
    assert len(slurm.asked) == 1
    slurm.now_s += 0.2
    assert await other.query(SINFO_ARGV) != first
    assert len(slurm.asked) == 2


async def test_two_that_ask_at_once_ask_once(tmp_path: Path) -> None:
    slurm = Slurm()
    slurm.goes_on.clear()
    asking = [asyncio.ensure_future(slurm.hub(tmp_path).query(SINFO_ARGV)) for _ in range(3)]
    await asyncio.sleep(0)
    slurm.goes_on.set()

    answers = await asyncio.gather(*asking)

    assert len(slurm.asked) == 1
    assert answers[0] == answers[1] == answers[2]


async def test_a_list_is_read_with_the_nonce_of_whoever_reads(tmp_path: Path) -> None:
    slurm = Slurm()
    await slurm.hub(tmp_path).query(queue_argv())
    argv = queue_argv()

    answer = await slurm.hub(tmp_path).query(argv)

    assert len(slurm.asked) == 1
    nonce = argv[-1].removeprefix("--format=").partition("|")[0]
    assert [job.job_id for job in parse_queue(answer.stdout, nonce)] == [7]


async def test_a_hub_that_hangs_while_it_asks_holds_no_other_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_answers, "_PATIENCE_S", 0.05)
    hanging, slurm = Slurm(), Slurm()
    hanging.goes_on.clear()
    stuck = asyncio.ensure_future(hanging.hub(tmp_path).query(SINFO_ARGV))
    await asyncio.sleep(0)

    assert (await slurm.hub(tmp_path).query(SINFO_ARGV)).stdout == "answer 1"

    stuck.cancel()


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\n", b'{"asked_at": 2000, "nonce": ""}\nx'])
async def test_what_cannot_be_read_or_is_of_the_future_is_as_none(
    tmp_path: Path, content: bytes
) -> None:
    slurm = Slurm()
    await slurm.hub(tmp_path).query(SINFO_ARGV)
    (name,) = (name for name in os.listdir(tmp_path) if not name.endswith(".lock"))
    (tmp_path / name).write_bytes(content)

    assert (await slurm.hub(tmp_path).query(SINFO_ARGV)).stdout == "answer 2"


async def test_without_the_folder_each_hub_asks(tmp_path: Path) -> None:
    slurm = Slurm()
    (tmp_path / "file").write_text("")

    for number in (1, 2):
        answer = await slurm.hub(tmp_path / "file" / "slurm").query(SINFO_ARGV)
        assert answer.stdout == f"answer {number}"


async def test_no_answer_is_kept_for_nobody(tmp_path: Path) -> None:
    slurm = Slurm()
    slurm.is_down = True
    with pytest.raises(SlurmUnavailableError):
        await slurm.hub(tmp_path).query(SINFO_ARGV)
    slurm.is_down = False

    assert (await slurm.hub(tmp_path).query(SINFO_ARGV)).stdout == "answer 2"


@pytest.mark.parametrize(
    "argv",
    [
        ("squeue", "--all", "--states=all", *RECORDS.options(new_nonce()), "--jobs=7,8"),
        ("squeue", "--all", "--states=all", *RECORDS.options(new_nonce())),
        ("scontrol", "--oneliner", "show", "job", "7"),
    ],
)
async def test_about_its_sessions_each_hub_asks_by_itself(
    tmp_path: Path, argv: tuple[str, ...]
) -> None:
    """What another hub was told may be too old to end a session by."""
    slurm = Slurm()

    for _ in range(2):
        await slurm.hub(tmp_path).query(argv)

    assert len(slurm.asked) == 2
    assert not os.listdir(tmp_path)


async def test_one_hub_asks_for_all_that_budgets_need() -> None:
    asked: list[tuple[str, ...]] = []

    async def ask(argv: Sequence[str]) -> Completed:
        asked.append(tuple(argv))
        return Completed(exit_code=0, stdout="AccountingStorageEnforce = limits\n", stderr="")

    await read_budgets(ask)

    assert len(asked) > 1
    assert set(asked) <= SHARED_S.keys()
