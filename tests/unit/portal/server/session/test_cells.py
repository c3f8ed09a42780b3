"""The cells that ran, from what kernels publish."""

import pytest

from portal.server.session.cells import N_KEPT, CellRuns, title_of
from tests.support.clock import Clock


@pytest.fixture
def runs(clock: Clock) -> CellRuns:
    return CellRuns(now=clock)


def begin(runs: CellRuns, number: int = 1, kernel: str = "k1") -> None:
    content = {"code": f"fit({number})", "execution_count": number}
    runs.take(kernel, "execute_input", "execute_request", content)


def become(runs: CellRuns, state: str, parent_kind: str = "execute_request") -> None:
    runs.take("k1", "status", parent_kind, {"execution_state": state})


def test_a_cell_runs_until_its_kernel_is_idle(runs: CellRuns, clock: Clock) -> None:
    begin(runs)
    become(runs, "busy")
    (run,) = runs.list_runs()
    assert (run.number, run.title, run.began_s, run.ended_s) == (1, "fit(1)", 1000.0, None)

    clock.now_s = 1007.5
    # JupyterLab asks for completions meanwhile.
    become(runs, "idle", "complete_request")
    assert runs.list_runs() == [run]
    become(runs, "idle")

    assert [run.ended_s for run in runs.list_runs()] == [1007.5]


def test_a_cell_that_took_less_than_a_second_is_no_mark(runs: CellRuns, clock: Clock) -> None:
    begin(runs)
    clock.now_s += 0.9
    become(runs, "idle")

    assert runs.list_runs() == []


def test_a_restart_ends_the_cell(runs: CellRuns, clock: Clock) -> None:
    begin(runs)
    clock.now_s += 5
    become(runs, "restarting", "")

    assert [run.ended_s for run in runs.list_runs()] == [1005.0]


def test_the_cells_of_two_kernels_run_beside_each_other(runs: CellRuns) -> None:
    begin(runs, 1, "k1")
    begin(runs, 4, "k2")

    assert [run.number for run in runs.list_runs()] == [1, 4]


def test_only_the_last_cells_are_kept(runs: CellRuns, clock: Clock) -> None:
    for number in range(N_KEPT + 5):
        begin(runs, number)
        clock.now_s += 2
        become(runs, "idle")

    assert len(runs.list_runs()) == N_KEPT
    assert runs.list_runs()[0].number == 5


@pytest.mark.parametrize(
    ("code", "title"),
    [
        ("# Training\nimport torch\n\nmodel.fit(x)", "model.fit(x)"),
        ("import torch", "import torch"),
        ("", ""),
        ("x" * 61, "x" * 58 + " …"),
    ],
)
def test_a_cell_is_named_by_its_first_telling_line(code: str, title: str) -> None:
    assert title_of(code) == title
