"""What each tool takes and does."""

import os
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from dsportal.assistant.permission import RefusedError
from dsportal.assistant.tools import Tool, make_tools


def tool(name: str, shell: object = None) -> Tool:
    return {each.name: each for each in make_tools(shell)}[name]


def do(name: str, text: str, shell: object = None) -> str:
    found = tool(name, shell)
    return found.run(**found.parse(text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run_cell", ""),
        ("run_cell", "x"),
        ("run_cell", "[]"),
        ("run_cell", '{"code": 1}'),
        ("run_cell", '{"code": "1", "quietly": true}'),
        ("submit_job", '{"notebook": "a.ipynb", "gpus": true}'),
        ("submit_job", '{"notebook": "/etc/a.ipynb"}'),
        # An option is no job.
        ("job_output", '{"job": "--follow"}'),
        ("job_output", '{"job": "../x"}'),
        ("read_file", '{"path": "../other/x"}'),
        ("read_file", '{"path": "~eve/x"}'),
        ("read_file", '{"path": ".ssh/id_ed25519"}'),
        ("read_file", '{"path": "a/.env"}'),
        ("read_file", '{"path": "out"}'),
        ("read_file", '{"path": "to-keys"}'),
        ("read_file", '{"path": "a\\u0000"}'),
        ("read_file", '{"path": "pipe"}'),
        ("read_file", '{"path": "none"}'),
    ],
)
def test_what_a_tool_does_not_take_is_refused(home: Path, name: str, text: str) -> None:
    (home / ".ssh").mkdir()
    (home / "out").symlink_to("/etc")
    (home / "to-keys").symlink_to(".ssh")
    os.mkfifo(home / "pipe")

    with pytest.raises(RefusedError):
        do(name, text)


def test_the_user_sees_the_file_that_a_path_leads_to(home: Path) -> None:
    (home / "a").mkdir()
    (home / "a/b.txt").write_text("hello")
    (home / "link").symlink_to("a/b.txt")

    asked = tool("read_file").parse('{"path": "a/../link"}')

    assert asked == {"path": str((home / "a/b.txt").resolve())}
    assert tool("read_file").run(**asked) == "hello"
    (home / "a/.hidden").touch()
    assert do("read_file", '{"path": "a"}') == "b.txt"


def test_a_cell_shows_what_it_shows_and_how_it_fails(
    home: Path, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    told = do("run_cell", '{"code": "print(1)\\n40 + 2"}', shell)
    assert told.startswith("1\n")
    assert told.endswith("42")
    assert capsys.readouterr().out.startswith("1\n")
    assert "ZeroDivisionError" in do("run_cell", '{"code": "1 / 0"}', shell)
    assert "SyntaxError" in do("run_cell", '{"code": "1 +"}', shell)


def test_jobs_are_those_of_the_command_with_its_limits(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = home / "bin"
    commands.mkdir()
    (commands / "dsportal").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (commands / "dsportal").chmod(0o755)
    monkeypatch.setenv("PORTAL_COMMANDS", str(commands))

    assert do("list_jobs", "").split() == ["jobs"]
    assert do("job_output", '{"job": "12_3"}').split() == ["logs", "12_3"]
    order = '{"notebook": "train.ipynb", "gpus": 2, "parameters": {"lr": 0.1, "name": "-x; y"}}'
    assert do("submit_job", order).splitlines() == [
        *("job", "new", "--gpus=2", "--nodes=1", "--hours=1"),
        *(str(home / "train.ipynb"), "-p", "lr=0.1", "-p", 'name="-x; y"'),
    ]
    (commands / "dsportal").write_text("#!/bin/sh\necho 'dsportal: too much' >&2; exit 1\n")
    with pytest.raises(RefusedError, match="too much"):
        do("list_jobs", "")
