from dsportal.notebook.log_tail import LogTail


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
