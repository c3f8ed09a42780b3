from pathlib import Path

import pytest

from dsportal.errors import LaunchError
from dsportal.task.folder import RunFolder
from dsportal.task.notebook import (
    check_parameters,
    files_beside,
    find_notebook,
    is_notebook,
    parse_parameter,
)


@pytest.mark.parametrize(
    ("train", "is_one"),
    [("train.ipynb", True), (Path("a/b.ipynb"), True), ("train.py", False), (print, False)],
)
def test_a_path_that_ends_as_notebooks_do_is_one(train: object, is_one: bool) -> None:
    assert is_notebook(train) is is_one


def test_what_a_job_leaves_has_the_date_of_its_run_and_stands_beside_the_notebook() -> None:
    folder = RunFolder(Path("/home/ada/portal-runs/20261120-203845-my-net-v2-k3v9"))
    beside = files_beside(Path("/home/ada/my net.v2.ipynb"), folder)

    assert beside.executed == Path("/home/ada/my net.v2-20261120-203845-k3v9.ipynb")
    assert beside.log == Path("/home/ada/my net.v2-20261120-203845-k3v9.log")
    assert beside.result == Path("/home/ada/my net.v2-20261120-203845-k3v9.json")


def test_what_a_point_of_a_sweep_leaves_stays_in_its_folder() -> None:
    folder = RunFolder(Path("/home/ada/portal-runs/sweeps/digits/points/3"))

    assert files_beside(Path("/home/ada/net.ipynb"), folder).log == folder.path / "net-3.log"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("lr=0.1", "lr", 0.1),
        ("epochs=3", "epochs", 3),
        ("deep=True", "deep", True),
        ("deep=false", "deep", False),
        ("seed=None", "seed", None),
        ("word=a=b", "word", "a=b"),
        ('sizes=[1, "x"]', "sizes", [1, "x"]),
        ("learning.rate=1e-3", "learning.rate", 0.001),
        ("name='adam'", "name", "adam"),
        ("sizes=(1, 2)", "sizes", [1, 2]),
        ("odd={1, 2}", "odd", "{1, 2}"),
        ("empty=", "empty", ""),
    ],
)
def test_a_parameter_of_a_command_line_has_the_kind_that_it_looks_like(
    text: str, name: str, value: object
) -> None:
    assert parse_parameter(text) == (name, value)


@pytest.mark.parametrize("text", ["lr", "=1", "1st=2", "a-b=1", "a b=1", "x;import os=1", ""])
def test_a_parameter_needs_the_name_of_a_variable(text: str) -> None:
    with pytest.raises(LaunchError, match=r"such as -p lr=0\.1"):
        parse_parameter(text)


def test_an_option_of_a_script_may_have_hyphens_which_a_variable_has_not() -> None:
    assert parse_parameter("batch-size=32", is_option=True) == ("batch-size", 32)
    assert check_parameters({"batch-size": 32}, is_option=True)
    with pytest.raises(LaunchError, match="an option"):
        check_parameters({"-x y": 1}, is_option=True)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ([1], "give a dictionary"),
        ({"a\nimport os": 1}, "cannot be the name of a variable"),
        ({1: 1}, "cannot be the name of a variable"),
        ({"model": object()}, "The parameter model cannot be sent"),
    ],
)
def test_parameters_that_cannot_be_sent_are_refused(parameters: object, says: str) -> None:
    with pytest.raises(LaunchError, match=says):
        check_parameters(parameters)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"cells": 1}', "\xff"])
def test_a_file_that_is_no_notebook_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.ipynb"
    path.write_bytes(content.encode("latin-1"))

    with pytest.raises(LaunchError, match="is no notebook"):
        find_notebook(path)


def test_a_notebook_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match=r"There is no notebook .*/x\.ipynb"):
        find_notebook(tmp_path / "x.ipynb")


@pytest.mark.parametrize("metadata", ["{}", "[]", '{"kernelspec": {}}', '{"kernelspec": 3}'])
def test_a_notebook_that_names_no_kernel_is_refused_before_the_queue(
    tmp_path: Path, metadata: str
) -> None:
    path = tmp_path / "x.ipynb"
    path.write_text(f'{{"cells": [], "metadata": {metadata}}}')

    with pytest.raises(LaunchError, match="names no kernel to run in"):
        find_notebook(path)
