from __future__ import annotations

import pytest

from tests.mutation.bar import Bar, line_of


def test_the_bar_shows_the_share_that_is_done() -> None:
    assert line_of("limits", 12, 48) == (
        "limits          [##########..............................] 12 of 48 mutants"
    )


def test_away_from_a_terminal_a_line_is_printed_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bar = Bar("limits")

    for n_done in range(1, 5):
        bar.draw(n_done, 4)

    assert [line.split("] ")[1] for line in capsys.readouterr().out.splitlines()] == [
        "1 of 4 mutants",
        "4 of 4 mutants",
    ]
