"""A program of a benchmark that fails shows what it printed, and its figures do not count."""

from __future__ import annotations

import pytest

from tests.benchmarks.printed import ProgramError, measurements, rows_of

TWO_ROWS = 'NODE node01\nFOUND {"way": "cell"}\nsrun: a word\nFOUND {"way": "srun"}\n'


def test_the_measurements_of_a_program_that_ended_well_are_its_marked_lines() -> None:
    assert measurements(f"{TWO_ROWS}ENDED 0\n") == [{"way": "cell"}, {"way": "srun"}]


def test_what_slurm_writes_after_the_program_is_none_of_its_failures() -> None:
    late = "slurmstepd-node01: error: Unable to unlink domain socket\n"

    assert len(measurements(f"{TWO_ROWS}ENDED 0\n{late}")) == 2


def test_a_line_that_is_half_written_is_read_at_the_next_look() -> None:
    assert rows_of('FOUND {"way": "cell"}\nFOUND {"way"') == [{"way": "cell"}]


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("RuntimeError: connection closed\nENDED 1\n", "2 measurements, then ENDED 1"),
        ("slurmstepd: error: *** JOB 7 CANCELLED ***\n", "killed before its end"),
    ],
)
def test_a_program_that_failed_shows_what_it_printed_last(end: str, words: str) -> None:
    with pytest.raises(ProgramError, match=words) as caught:
        measurements(TWO_ROWS + end)

    assert end.splitlines()[0] in str(caught.value)


def test_a_program_that_measured_nothing_has_failed() -> None:
    with pytest.raises(ProgramError, match="0 measurements"):
        measurements("NODE node01\nENDED 0\n")
