import re

import pytest

from dsportal.notebook import cell_output
from dsportal.notebook.cell_output import LAST_CHARACTERS, MOST_CHARACTERS, CellOutput
from dsportal.notebook.output import RankOutput, RankText, without_cut


def cell_of(tmp_path, clock):
    messages: list[str] = []
    return CellOutput(messages.append, tmp_path / "rank-0.log", clock), messages


def test_lines_that_come_together_are_one_message(tmp_path, clock):
    cell, messages = cell_of(tmp_path, clock)
    for number in range(5):
        cell.write(f"line {number}\n")
    assert messages == []

    clock.now_s += 0.1
    cell.write("line 5\n")

    assert messages == ["".join(f"line {number}\n" for number in range(6))]


def test_a_pause_or_the_end_shows_what_waits(tmp_path, clock):
    cell, messages = cell_of(tmp_path, clock)
    cell.write("one\n")
    cell.flush()
    cell.write("two")
    cell.flush(is_end=True)
    cell.flush(is_end=True)

    assert messages == ["one\n", "two"]


def test_a_hundred_thousand_lines_leave_the_page_usable_and_show_their_end(tmp_path, clock):
    cell, messages = cell_of(tmp_path, clock)
    for number in range(100_000):
        clock.now_s += 1 / 20_000
        cell.write(f"{number} {'x' * 90}\n")
    cell.flush(is_end=True)

    shown = "".join(messages)
    assert len(messages) < 60
    assert len(shown) < MOST_CHARACTERS + 20_000
    assert shown.startswith("0 xxx")
    assert shown.endswith(f"99999 {'x' * 90}\n")
    lines = [line for line in shown.splitlines() if line.endswith("x" * 90)]
    left_out = sum(int(n.replace(",", "")) for n in re.findall(r"([\d,]+) lines are left", shown))
    assert len(lines) + left_out == 100_000
    assert str(tmp_path / "rank-0.log") in shown


def test_long_output_is_followed_by_its_newest_lines_now_and_then(tmp_path, clock):
    cell, messages = cell_of(tmp_path, clock)
    cell.write("x" * MOST_CHARACTERS)
    cell.write("never seen\n" * 1000)
    clock.now_s += 1.0
    cell.flush()
    assert "".join(messages) == "x" * MOST_CHARACTERS

    clock.now_s += 200.0
    cell.write("newest\n")

    assert "lines are left out here" in messages[-1]
    assert messages[-1].endswith("newest\n")
    assert len(messages[-1]) < LAST_CHARACTERS + 500

    cell.write("and again everything\n")
    cell.flush()
    assert messages[-1] == "and again everything\n"


def test_what_must_be_whole_is_whole(clock):
    messages: list[str] = []
    cell = CellOutput(messages.append, None, clock)
    cell.write("x" * 10 * MOST_CHARACTERS)
    cell.flush(is_end=True)

    assert sum(map(len, messages)) == 10 * MOST_CHARACTERS


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"a" * 1024 + b"\n", b"a" * 1024),
        (b"a" * 1023 + b"\n", b"a" * 1023 + b"\n"),
        (b"a\n", b"a\n"),
        (b"\n", b"\n"),
    ],
    ids=["cut", "as long as can be", "short", "empty"],
)
def test_the_line_end_that_srun_adds_to_a_cut_line_is_taken_away(line, expected):
    assert without_cut(line) == expected


def test_a_progress_bar_that_srun_cut_inside_a_character_is_whole_again(tmp_path):
    bar = ("━" * 700 + "\r" + "━" * 10 + " 0s\n").encode()
    cut = [bar[at : at + 1024] for at in range(0, len(bar), 1024)]
    shown: list[str] = []
    log = tmp_path / "rank-0.log"
    with RankOutput([log], [0], shown.append) as output:
        for piece in cut:
            output.feed(b"0: " + (piece if piece.endswith(b"\n") else piece + b"\n"))

    assert "".join(shown) == bar.decode()
    assert log.read_bytes() == bar


def test_each_rank_is_decoded_by_itself_and_named_once_a_line():
    text = RankText(n_ranks=2)

    assert text.of(0, b"caf\xc3") == "[rank 0] caf"
    assert text.of(1, b"\xe2\x94\x81\n") == "[rank 1] ━\n"
    assert text.of(0, b"\xa9\n") == "é\n"
    assert text.of(0, b"next\n") == "[rank 0] next\n"


def test_the_limits_leave_a_page_for_a_working_day():
    day_s = 8 * 3600

    assert MOST_CHARACTERS + cell_output.MORE_PER_S * day_s < 60e6
