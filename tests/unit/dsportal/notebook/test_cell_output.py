import pytest

from dsportal.notebook.cell_output import CellOutput
from dsportal.notebook.output import RankOutput, RankText, without_cut


def cell_of(clock):
    messages: list[str] = []
    return CellOutput(messages.append, clock), messages


def test_lines_that_come_together_are_one_message(clock):
    cell, messages = cell_of(clock)
    for number in range(5):
        cell.write(f"line {number}\n")
    assert messages == []

    clock.now_s += 0.1
    cell.write("line 5\n")

    assert messages == ["".join(f"line {number}\n" for number in range(6))]


def test_a_pause_or_the_end_shows_what_waits(clock):
    cell, messages = cell_of(clock)
    cell.write("one\n")
    cell.flush()
    cell.write("two")
    cell.flush()
    cell.flush()

    assert messages == ["one\n", "two"]


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
