import pytest

from dsportal.notebook.output import LogTail, RankOutput, log_tail, split_label


@pytest.mark.parametrize(
    ("line", "rank", "text"),
    [
        (b"0: loss 0.3\n", 0, b"loss 0.3\n"),
        (b"1: \n", 1, b"\n"),
        (b" 3: indented\n", 3, b"indented\n"),
        (b"03: ten ranks and more\n", 3, b"ten ranks and more\n"),
        (b"2:   kept spaces\n", 2, b"  kept spaces\n"),
        (b"srun: error: node01: task 1: Killed\n", None, b"srun: error: node01: task 1: Killed\n"),
        (b"4: not a rank of this run\n", None, b"4: not a rank of this run\n"),
    ],
)
def test_a_line_belongs_to_the_rank_in_its_label(line, rank, text):
    assert split_label(line, n_ranks=4) == (rank, text)


def output(tmp_path, shown):
    cell: list[str] = []
    paths = [tmp_path / f"rank-{rank}.log" for rank in range(2)]
    return RankOutput(paths, shown, cell.append), cell, paths


def test_every_line_is_logged_and_those_of_rank_0_are_shown(tmp_path):
    ranks, cell, paths = output(tmp_path, shown=[0])
    with ranks:
        for line in (b"0: one\n", b"1: two\n", b"0: three\n"):
            ranks.feed(line)

    assert "".join(cell) == "one\nthree\n"
    assert [path.read_text() for path in paths] == ["one\nthree\n", "two\n"]


def test_a_log_can_be_read_while_the_run_goes_on(tmp_path):
    ranks, _, paths = output(tmp_path, shown=[0])
    with ranks:
        ranks.feed(b"1: two\n")
        assert paths[1].read_text() == "two\n"


def test_lines_of_several_ranks_are_told_apart(tmp_path):
    ranks, cell, _ = output(tmp_path, shown=[0, 1])
    with ranks:
        ranks.feed(b"0: one\n")
        ranks.feed(b"1: two\n")

    assert "".join(cell) == "[rank 0] one\n[rank 1] two\n"


def test_what_srun_says_itself_is_kept_for_the_error(tmp_path):
    ranks, cell, _ = output(tmp_path, shown=[0])
    with ranks:
        ranks.feed(b"srun: error: Unable to create step\n")

    assert ranks.slurm_lines == ["srun: error: Unable to create step"]
    assert cell == []


def test_slurms_note_that_ranks_were_cancelled_is_no_output_of_a_rank(tmp_path):
    note = b"slurmstepd-node01: error: *** STEP 12.4 ON node01 CANCELLED AT 2026-11-23T17:39:25 ***"
    limit = note.removesuffix(b" ***") + b" DUE TO TIME LIMIT ***"
    ranks, cell, paths = output(tmp_path, shown=[0])
    with ranks:
        for line in (b"9", note, limit):
            ranks.feed(b"0: " + line + b"\n")

    assert "".join(cell) == paths[0].read_text() == f"9\n{limit.decode()}\n"
    assert ranks.slurm_lines == [note.decode()]


def test_the_end_of_a_log_is_its_last_lines(tmp_path):
    path = tmp_path / "rank-0.log"
    path.write_text("".join(f"{number}\n" for number in range(100)))

    assert log_tail(path, n_lines=2) == "98\n99"
    assert log_tail(tmp_path / "none") == ""


def test_lines_are_shown_once_and_only_when_they_are_whole(tmp_path):
    log, shown = tmp_path / "rank-0.log", []
    tail = LogTail([log], shown.append)
    tail.read()
    log.write_bytes(b"epoch 1\nepo")
    tail.read()
    tail.read()

    assert shown == ["epoch 1\n"]

    log.write_bytes(b"epoch 1\nepoch 2")
    tail.read()
    tail.read(is_end=True)

    assert shown == ["epoch 1\n", "epoch 2"]


def test_lines_of_several_ranks_name_their_rank(tmp_path):
    logs, shown = [tmp_path / "0", tmp_path / "1"], []
    for rank, log in enumerate(logs):
        log.write_text(f"loss {rank}\n")
    LogTail(logs, shown.append).read()

    assert "".join(shown) == "[rank 0] loss 0\n[rank 1] loss 1\n"
