"""A cell that is one block with GPUs."""

import pytest

from dsportal.start.gpu_block import as_magic


@pytest.mark.parametrize(
    ("cell", "magic"),
    [
        ("with gpus(2):\n    fit()\n    if x:\n        y()\n", "%%gpu 2\nfit()\nif x:\n    y()\n"),
        (
            "# Train.\n\nwith gpus('v100:2', hours=3):  # long\n  fit()",
            "%%gpu v100:2 --hours 3\nfit()",
        ),
    ],
)
def test_a_block_alone_in_its_cell_is_the_cell_magic(cell: str, magic: str) -> None:
    assert "".join(as_magic(cell.splitlines(keepends=True))) == magic


@pytest.mark.parametrize(
    "cell",
    [
        "with gpus(2):\n    fit()\nmore()",
        "n = 2\nwith gpus(n):\n    fit()",
        "with gpus(n):\n    fit()",
        "with gpus(2):",
        "with gpus(2), other():\n    fit()",
        "",
    ],
)
def test_any_other_cell_stays_as_it_is(cell: str) -> None:
    lines = cell.splitlines(keepends=True)

    assert as_magic(lines) == lines
