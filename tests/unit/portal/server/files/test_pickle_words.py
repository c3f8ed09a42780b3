"""What a pickle describes, without executing it."""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from portal.server.files.pickle_words import Call, Name, read_pickle


class Evil:
    """Does something when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_values_are_what_they_are(protocol: int) -> None:
    value = {"epoch": 3, "loss": [0.5, -1e9, 2**70], "name": "ü", "flags": (True, None)}

    assert read_pickle(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", [2, 4])
def test_code_in_a_pickle_is_named_and_not_executed(tmp_path: Path, protocol: int) -> None:
    data = pickle.dumps({"model": Evil(tmp_path / "made")}, protocol)

    found = read_pickle(data)["model"]

    assert isinstance(found, Call)
    assert found.function == Name("posix.system")
    assert found.arguments == (f"touch {tmp_path / 'made'}",)
    assert not (tmp_path / "made").exists()


def test_the_items_of_an_object_are_kept_with_it() -> None:
    found = read_pickle(pickle.dumps(OrderedDict(a=1, b=2), 2))

    assert found.items == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"\x80\x02.", b"\x80\x02}q\x00", b"\x80\x02h\x07."]
)
def test_what_is_no_pickle_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"description|opcode|pickle|uses"):
        read_pickle(data)


def test_an_instruction_that_checkpoints_do_not_use_is_an_error() -> None:
    with pytest.raises(ValueError, match="it uses INST"):
        read_pickle(b"(S'id'\nios\nsystem\n.")
