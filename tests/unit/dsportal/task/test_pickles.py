"""What is carried between the notebook and the ranks."""

import sys
import threading
from pathlib import Path

import cloudpickle
import pytest
from IPython.core.autocall import ExitAutocall

from dsportal.errors import LaunchError
from dsportal.task.call import Call
from dsportal.task.pickles import pickled, unpickled


def test_a_function_and_its_values_come_back(tmp_path: Path) -> None:
    factor = 3
    path = tmp_path / "call.pkl"
    path.write_bytes(pickled(lambda n: factor * n, "It cannot be sent"))

    assert unpickled(path)(14) == 42


def test_what_cannot_be_sent_is_refused_with_the_cause_and_what_to_use(tmp_path: Path) -> None:
    with (tmp_path / "images.txt").open("w") as file, pytest.raises(LaunchError) as refused:
        pickled(file, "The function or its arguments cannot be sent")

    assert str(refused.value) == (
        f"The function or its arguments cannot be sent ({refused.value.__cause__}). Use numbers, "
        "text, arrays, dictionaries and lists, and open files, models and data sets inside the "
        "function."
    )


numbers = (n for n in range(3))


def helper() -> object:
    return list(numbers)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (Call(function=lambda: next(numbers)), "numbers, which <lambda> uses"),
        (Call(function=lambda: [helper() for _ in "ab"]), "numbers, which helper uses"),
        (Call(function=print, args=(1, numbers)), "argument 2"),
        (Call(function=print, kwargs={"end": numbers}), "the argument end"),
    ],
)
def test_what_of_a_call_cannot_be_sent_is_named(call: Call, name: str) -> None:
    # As if the notebook had defined them.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with pytest.raises(LaunchError) as refused:
        pickled(call, "It cannot be sent")
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])

    assert f"It cannot be sent: {name} (" in str(refused.value)


def test_a_function_that_exits_is_sent_though_ipythons_exit_holds_the_notebook(
    tmp_path: Path,
) -> None:
    exit = ExitAutocall(ip=threading.Lock())
    path = tmp_path / "call.pkl"
    path.write_bytes(pickled(lambda: exit(), "It cannot be sent"))

    with pytest.raises(SystemExit):
        unpickled(path)()


def test_a_kernel_without_cloudpickle_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)

    with pytest.raises(LaunchError) as refused:
        pickled(1, "It cannot be sent")

    assert str(refused.value) == (
        "This kernel's environment has no cloudpickle, which carries functions to the ranks. "
        "Choose the kernel tensorflow, or install cloudpickle where this kernel runs."
    )
