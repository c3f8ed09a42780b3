"""What squeue and sacct are told to print is what is read, and nobody else can add a line."""

import pytest

from dsportal.slurm.listing import LongSqueue, Sacct, Squeue, job_options, new_nonce
from spawner.programs import extend_time_limit, launcher

NAMES = Squeue("ATj")
ENDS = Sacct(("JobIDRaw", "State", "JobName"))


def test_squeue_prints_the_mark_and_the_fields_in_their_order() -> None:
    assert NAMES.options("m") == ("--noheader", "--format=m|%A|%T|%j")
    assert list(NAMES.rows("m|42|RUNNING|a | b\nm|43|PENDING|\n", "m")) == [
        ["42", "RUNNING", "a | b"],
        ["43", "PENDING", ""],
    ]


def test_sacct_separates_the_fields_by_the_mark() -> None:
    assert "--delimiter=m" in ENDS.options("m")
    assert "--format=JobIDRaw,State,JobName" in ENDS.options("m")
    assert list(ENDS.rows("42mCOMPLETEDma | bm\n", "m")) == [["42", "COMPLETED", "a | bm"]]


def test_fields_by_their_long_names_are_printed_whole_with_the_mark_between_them() -> None:
    named = LongSqueue(("JobID", "RestartCnt", "Name"))

    assert named.options("m") == ("--noheader", "--Format=JobID:0m,RestartCnt:0m,Name:0")
    assert list(named.rows("42m1ma | bm\n", "m")) == [["42", "1", "a | bm"]]
    assert not new_nonce()[0].isdecimal(), "it would be a part of the width"


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\x0b", "\x85", "\u2028"])
def test_a_name_with_a_line_break_adds_no_job(line_break: str) -> None:
    nonce, guess = new_nonce(), new_nonce()
    squeue = f"{nonce}|42|RUNNING|x{line_break}{guess}|43|RUNNING|forged\n"
    sacct = f"42{nonce}FAILED{nonce}x{line_break}43{guess}FAILED{guess}forged\n"

    assert [row[0] for row in NAMES.rows(squeue, nonce)] == ["42"]
    assert [row[0] for row in ENDS.rows(sacct, nonce)] == ["42"]


@pytest.mark.parametrize("text", ["", "\n", "slurm_load_jobs error: x\n", "m|42\n", "42mFAILED\n"])
def test_lines_of_another_form_are_no_job(text: str) -> None:
    assert list(NAMES.rows(text, "m")) == []
    assert list(ENDS.rows(text, "m")) == []


def test_the_programs_that_import_nothing_ask_in_the_same_form() -> None:
    assert Squeue("Uj").field_format == launcher.SQUEUE_FIELDS
    assert Squeue("AUTljk").field_format == extend_time_limit.SQUEUE_FIELDS


def test_any_number_of_jobs_is_named_in_arguments_that_linux_takes() -> None:
    ids = list(range(4_000_000_000, 4_000_030_000))

    options = list(job_options(ids))

    assert all(len(option) < 128 * 1024 for option in options)
    named = [job_id for option in options for job_id in option.removeprefix("--jobs=").split(",")]
    assert named == list(map(str, ids))
    assert list(job_options([])) == []
