import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsportal.slurm.errors import OptionsError
from dsportal.slurm.units import (
    format_memory,
    format_walltime,
    parse_memory,
    parse_time_limit,
    parse_uid,
    parse_walltime,
)


@pytest.mark.parametrize(
    ("text", "walltime_s"),
    [
        pytest.param("30", 30 * 60, id="minutes"),
        pytest.param("30:15", 30 * 60 + 15, id="minutes:seconds"),
        pytest.param("08:00:00", 8 * 3600, id="hours:minutes:seconds"),
        pytest.param("8:00:00", 8 * 3600, id="one-digit-hours"),
        pytest.param("1-12", 36 * 3600, id="days-hours"),
        pytest.param("1-12:30", 36 * 3600 + 30 * 60, id="days-hours:minutes"),
        pytest.param("2-00:00:01", 2 * 86400 + 1, id="days-hours:minutes:seconds"),
        pytest.param("0-8", 8 * 3600, id="zero-days"),
        pytest.param("90:00", 90 * 60, id="more-minutes-than-an-hour"),
        pytest.param(" 60 ", 3600, id="spaces-around"),
    ],
)
def test_each_of_slurms_time_forms_is_read_as_slurm_reads_it(text: str, walltime_s: int) -> None:
    assert parse_walltime(text) == walltime_s


@pytest.mark.parametrize(
    "text",
    [
        "",
        "eight",
        "8h",
        "8:",
        "1-",
        "-5",
        "1:2:3:4",
        "1-2:3:4:5",
        "08:00:00; id",
        "1.5",
        "\u0663\u0660",
        "9" * 5000,
    ],
    ids=lambda text: repr(text[:16]),
)
def test_a_time_that_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(OptionsError, match="08:00:00"):
        parse_walltime(text)


@pytest.mark.parametrize("text", ["0", "0:59", "00:00:00", "0-0"])
def test_a_time_under_a_minute_is_refused_because_slurm_reads_zero_as_no_limit(text: str) -> None:
    with pytest.raises(OptionsError, match="one minute"):
        parse_walltime(text)


@pytest.mark.parametrize("text", ["UNLIMITED", "infinite", "INFINITE", "-1", "Unlimited\n"])
def test_no_limit_is_none_and_never_a_number(text: str) -> None:
    assert parse_time_limit(text) is None
    with pytest.raises(OptionsError):
        parse_walltime(text)


def test_a_limit_that_slurm_prints_is_read_as_seconds() -> None:
    assert parse_time_limit("1-00:00:00") == 86400


@pytest.mark.parametrize(
    ("walltime_s", "text"),
    [(28800, "08:00:00"), (86400, "1-00:00:00"), (60, "00:01:00"), (90061, "1-01:01:01")],
)
def test_times_are_printed_as_slurm_prints_them(walltime_s: int, text: str) -> None:
    assert format_walltime(walltime_s) == text


def test_a_walltime_under_a_minute_is_not_printed() -> None:
    with pytest.raises(OptionsError, match="one minute"):
        format_walltime(0)


@given(st.integers(min_value=60, max_value=86400 * 999_999))
def test_a_printed_time_is_read_back_exactly(walltime_s: int) -> None:
    assert parse_walltime(format_walltime(walltime_s)) == walltime_s


@given(st.text())
def test_any_text_is_a_time_or_a_clear_refusal(text: str) -> None:
    with contextlib.suppress(OptionsError):
        assert parse_walltime(text) >= 60


@pytest.mark.parametrize(
    ("text", "memory_mib"),
    [
        pytest.param("48G", 49152, id="GiB"),
        pytest.param("384000", 384000, id="no-unit-is-MiB"),
        pytest.param("49152M", 49152, id="MiB"),
        pytest.param("1T", 1024 * 1024, id="TiB"),
        pytest.param("2048K", 2, id="KiB"),
        pytest.param("1K", 1, id="KiB-rounded-up"),
        pytest.param("48g", 49152, id="lower-case"),
        pytest.param("1.50G", 1536, id="fraction"),
    ],
)
def test_slurms_memory_texts_become_mib(text: str, memory_mib: int) -> None:
    assert parse_memory(text) == memory_mib


@pytest.mark.parametrize("text", ["", "G", "48X", "48GG", "-1", "4 8G", "NaN", "1e3"])
def test_a_memory_text_that_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(OptionsError, match="48G"):
        parse_memory(text)


def test_no_memory_is_not_asked_for_because_slurm_reads_zero_as_all_of_it() -> None:
    with pytest.raises(OptionsError, match="1 or more"):
        format_memory(0)


@given(st.integers(min_value=1, max_value=10**12))
def test_a_printed_amount_of_memory_is_read_back_exactly(memory_mib: int) -> None:
    assert parse_memory(format_memory(memory_mib)) == memory_mib


@pytest.mark.parametrize(("text", "uid"), [("20001", 20001), ("-1294967295", 3_000_000_001)])
def test_a_uid_has_no_sign(text: str, uid: int) -> None:
    assert parse_uid(text) == uid
