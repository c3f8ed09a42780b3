import linecache
from types import FunctionType

from dsportal.task.source import source_hash

TRAIN = "def train(lr):\n    return scale(lr) * 2\n"
SCALE = "def scale(lr):\n    return lr / 255\n"


def functions_of(*cells: str) -> FunctionType:
    """Return the function `train` of a notebook with these cells."""
    module: dict[str, object] = {"__name__": "__main__"}
    for cell in cells:
        name = f"<cell {hash(cell)}>"
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        exec(compile(cell, name, "exec"), module)
    train = module["train"]
    assert isinstance(train, FunctionType)
    return train


def test_a_function_with_another_comment_and_layout_is_the_same() -> None:
    other = "# Trains.\n\ndef train( lr ):\n\n    return scale(lr) * 2  # twice\n"

    assert source_hash(functions_of(TRAIN, SCALE)) == source_hash(functions_of(SCALE, other))


def test_a_function_is_another_one_if_it_or_what_it_calls_in_the_notebook_has_changed() -> None:
    hashes = {
        source_hash(functions_of(TRAIN, SCALE)),
        source_hash(functions_of(TRAIN.replace("2", "3"), SCALE)),
        source_hash(functions_of(TRAIN, SCALE.replace("255", "256"))),
    }

    assert len(hashes - {""}) == 3


def test_of_what_has_no_source_nothing_is_known() -> None:
    assert source_hash(len) == ""
    assert source_hash(eval("lambda: 1")) == ""
