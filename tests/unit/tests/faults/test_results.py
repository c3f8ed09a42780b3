"""The table of faults: what was tried now replaces older lines of the same fault only."""

from __future__ import annotations

from pathlib import Path

from tests.faults import results
from tests.faults.results import Record


def test_a_new_result_replaces_the_one_of_the_same_fault() -> None:
    rows = [["a", "", "8+8+8", 1.0, 0.1, 0, 0, "yes"], ["c", "", "8+8+8", 2.0, 0.1, 0, 0, "yes"]]
    tried = [Record(fault="c", n_each=2), Record(fault="b", n_each=2)]

    assert [row[:3] for row in results.merged(rows, tried)] == [
        ["a", "", "8+8+8"],
        ["b", "", "2+2+2"],
        ["c", "", "2+2+2"],
    ]


def test_lines_of_runs_that_kept_no_load_have_an_empty_one() -> None:
    (row,) = results.merged([["a", "", "8+8+8", 1.0, 0.1, 0, 0, "yes"]], [])

    assert dict(zip(results.COLUMNS, row, strict=True))["load"] == ""
    assert row[-1] == "yes"


def test_a_fault_holds_only_if_everybody_could_start_again() -> None:
    assert not Record(fault="a", n_each=2).held
    assert Record(fault="a", n_each=2, is_over=True).held
    assert not Record(fault="a", n_each=2, is_over=True, wrongs=["user01 waits"]).held


def test_the_table_says_what_did_not_hold() -> None:
    record = Record(fault="a", n_each=8, well_after_s=1.26, wrongs=["user01 waits"])

    assert record.row()[3] == 1.3
    assert record.row()[-1] == "no: user01 waits"


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "faults.jsonl"
    assert results.read(path) == []
    tried = [Record(fault="a", n_each=2, wrongs=["x"]), Record(fault="b", n_each=2)]

    for record in tried:
        results.add(path, record)

    assert results.read(path) == tried
