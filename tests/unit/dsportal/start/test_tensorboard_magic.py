import os

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.testing.globalipapp import get_ipython as start_ipython

import dsportal
from dsportal.start.tensorboard_magic import register_magic


@pytest.fixture
def shell() -> InteractiveShell:
    shell: InteractiveShell = start_ipython() or InteractiveShell.instance()
    register_magic(shell)
    return shell


@pytest.mark.parametrize(
    ("line", "folders"),
    [
        ("--logdir logs", ("logs",)),
        ("--logdir='my logs' --port 6007 --bind_all", ("my logs",)),
        ("--logdir_spec a:runs/1,b:runs/2", ("runs/1", "runs/2")),
        ("--logdir {folder}", ("logs/new",)),
    ],
)
def test_lines_of_other_notebooks_show_the_sessions_tensorboard(
    line: str, folders: tuple[str, ...], shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[str, ...]] = []
    monkeypatch.setattr(dsportal, "tensorboard", lambda *names: shown.append(names), raising=False)

    shell.push({"folder": os.path.join("logs", "new")})
    shell.run_cell(f"%load_ext tensorboard\n%tensorboard {line}").raise_error()

    assert shown == [folders]


def test_a_line_without_a_folder_says_what_to_write(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%tensorboard --port 6006")

    assert "%tensorboard --logdir logs" in capsys.readouterr().err
