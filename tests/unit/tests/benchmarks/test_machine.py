"""What a benchmark says of the machine, and that it does not begin on a busy one."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks import machine
from tests.benchmarks.machine import BusyError, expect_quiet, read_machine, read_times

# Two cores; the last fields are those of guests, which are in user and nice already.
STAT = "cpu  100 10 50 800 20 5 5 10 7 3\ncpu0 50 5 25 400 10 2 3 5 3 2\n"


def test_work_and_waiting_are_told_apart() -> None:
    assert read_times(STAT) == (180, 1000)


@pytest.mark.parametrize(("busy", "is_quiet"), [(5, True), (10, True), (11, False), (100, False)])
def test_a_benchmark_begins_only_while_others_use_a_tenth_at_most(
    monkeypatch: pytest.MonkeyPatch, busy: int, is_quiet: bool
) -> None:
    looks = iter([(0, 0), (busy, 100)])
    monkeypatch.setattr(machine, "read_times", lambda _: next(looks))

    if is_quiet:
        expect_quiet(look_s=0, patience_s=0)
    else:
        with pytest.raises(BusyError, match=f"use {busy}% of this machine's processor"):
            expect_quiet(look_s=0, patience_s=0)


def test_a_benchmark_waits_for_what_the_one_before_is_still_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = iter([(0, 0), (90, 100), (90, 100), (91, 200)])
    monkeypatch.setattr(machine, "read_times", lambda _: next(looks))

    expect_quiet(look_s=0, patience_s=60)

    assert next(looks, None) is None


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        (("avx512f", "avx512_vnni", "amx_int8"), "AMX"),
        (("avx512f", "avx512_vnni"), "VNNI"),
        (("avx2", "avx_vnni"), "VNNI"),
        (("avx512f",), "AVX512"),
        (("avx2",), "without VNNI"),
    ],
)
def test_what_int8_gains_depends_on_the_class_of_the_processor(
    flags: tuple[str, ...], name: str
) -> None:
    assert replace(read_machine(), flags=flags).int8_class == name


def test_this_machine_is_described_without_its_name() -> None:
    found = read_machine()

    assert found.cpu
    assert found.n_cores >= 1
    assert found.threads_per_core >= 1
    assert found.memory_gib > 0


def test_figures_of_the_benchmark_before_do_not_make_the_checkout_dirty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "CHECKOUT", tmp_path)
    figures, code = tmp_path / "docs/benchmarks/a.json", tmp_path / "code.py"
    figures.parent.mkdir(parents=True)
    for path in (figures, code):
        path.write_text("1")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "1"]):
        subprocess.run([*git, *words], check=True)

    figures.write_text("2")
    assert not read_machine().is_dirty
    code.write_text("2")
    assert read_machine().is_dirty
