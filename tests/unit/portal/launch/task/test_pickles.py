"""What is carried between the notebook and the ranks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from portal.launch.errors import LaunchError
from portal.launch.task.pickles import pickled, unpickled


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
