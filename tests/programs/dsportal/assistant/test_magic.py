"""`%ask` in a real kernel, with a front end that answers its questions or cannot."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

from dsportal.assistant import endpoint
from dsportal.assistant.permission import LOG
from tests.unit.dsportal.assistant.conftest import Model, called, model

__all__ = ["model"]

Run = Callable[..., str]
TIMEOUT_S = 60


@pytest.fixture
def run(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setenv(endpoint.TOOLS, "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    manager, client = start_new_kernel(startup_timeout=TIMEOUT_S, cwd=str(tmp_path))
    register = "from dsportal.start.ask_line import register_magic; register_magic(get_ipython())"
    run_code(client, register)
    yield lambda code, said=None: run_code(client, code, said)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def run_code(client: BlockingKernelClient, code: str, said: str | None = None) -> str:
    """Run a cell whose questions are answered with `said`; return what it shows and asks."""
    shown: list[str] = []

    def show(message: dict[str, Any]) -> None:
        content = message["content"]
        data = content.get("data", {}).get("text/plain", "")
        shown.append(content.get("text", "") + data + "".join(content.get("traceback", [])))

    def answer(message: dict[str, Any]) -> None:
        shown.append(message["content"]["prompt"])
        client.input(said)

    client.execute_interactive(
        code,
        timeout=TIMEOUT_S,
        output_hook=show,
        stdin_hook=answer,
        allow_stdin=said is not None,
    )
    return "".join(shown)


def test_a_cell_of_the_model_runs_in_the_kernel_after_a_yes(model: Model, run: Run) -> None:
    model.answers = [[called("run_cell", code="x = 41\nx + 1")], "It is 42."]

    shown = run("%ask what is it?", "y")

    assert shown.index("| x = 41") < shown.index("run_cell this once?") < shown.index("It is 42.")
    assert "42" in model.told
    assert run("x") == "41"


@pytest.mark.parametrize("said", ["n", None])
def test_without_a_yes_nothing_runs(
    model: Model, run: Run, tmp_path: Path, said: str | None
) -> None:
    model.answers = [[called("run_cell", code="open('made', 'w')")], "Well."]

    assert "Well." in run("%ask what is it?", said)

    assert not (tmp_path / "made").exists()
    assert "open('made'" in (tmp_path / LOG).read_text()
