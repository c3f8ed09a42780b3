"""Another Python than the system's: who chooses it, and which ones are refused."""

import io
import sys
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder.choices import keep_python, kept_python, refuse_python
from deploy.environments.builder.command import main, parse_arguments
from deploy.environments.builder.environment import install_environment
from deploy.environments.builder.files import install_launcher, launcher_path
from deploy.environments.builder.plan import PYTHON, Plan
from deploy.environments.builder.targets import BY_NAME

ANOTHER = Path("/opt/python/3.12/bin/python3.12")


@pytest.fixture
def old_python(tmp_path: Path) -> Path:
    """A program that says to be a Python without locks."""
    program = tmp_path / "python3.10"
    program.write_text("#!/bin/sh\necho Python 3.10.12\n")
    program.chmod(0o755)
    return program


def test_a_choice_is_kept_until_another_one(tmp_path: Path) -> None:
    def python_after(*words: str) -> Path:
        _, plan = parse_arguments(["hub", "--prefix", str(tmp_path), *words])
        keep_python(plan.prefix, plan.python)
        return plan.python

    assert python_after() == PYTHON
    assert python_after("--python", str(ANOTHER)) == ANOTHER
    assert python_after() == ANOTHER
    assert python_after("--python", str(PYTHON)) == PYTHON
    assert kept_python(tmp_path) == PYTHON


def test_a_python_without_locks_is_refused_with_those_that_have_them(old_python: Path) -> None:
    with pytest.raises(DeployError) as caught:
        refuse_python(old_python)

    assert f"{old_python} is Python 3.10.12, for which no packages are locked." in str(caught.value)
    assert "3.11, 3.12 or 3.13" in caught.value.next_step


@pytest.mark.parametrize("word", ["python3", "/no/python", "/bin/true"])
def test_what_is_no_python_is_refused(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uv", "--python", word]) == 2
    assert f"{word} is no" in capsys.readouterr().err


def test_environments_are_made_with_the_python_that_was_chosen(tmp_path: Path) -> None:
    plan = Plan(prefix=tmp_path / "prefix", source_dir=tmp_path, python=Path(sys.executable))
    # An environment of a Python that is gone, and the uv that does the rest.
    broken = plan.environment("hub") / "bin/python"
    broken.parent.mkdir(parents=True)
    broken.symlink_to("/no/python")
    uv = plan.environment("uv") / "bin/uv"
    uv.parent.mkdir(parents=True)
    uv.write_text("#!/bin/sh\necho []\n")
    uv.chmod(0o755)

    with (tmp_path / "log").open("w") as log:
        install_environment(plan, "hub", log)

    assert broken.resolve() == Path(sys.executable).resolve()


def test_another_python_of_the_same_version_makes_environments_anew() -> None:
    made_from = BY_NAME["hub"].made_from

    assert list(made_from(Plan())) != list(made_from(Plan(python=Path("/usr/bin/../bin/python3"))))


def test_what_sudo_starts_runs_in_the_python_that_was_chosen(tmp_path: Path) -> None:
    plan = Plan(prefix=tmp_path, python=ANOTHER)

    install_launcher(plan, io.StringIO())

    assert launcher_path(plan).read_text().startswith(f"#!{ANOTHER} -IS\n")
