"""`tests/run bench -- -k NAME` runs one benchmark: no other has the name in its file or tests."""

import re
from pathlib import Path

import pytest

BENCHMARKS_DIR = Path(__file__).parents[4] / "lab/benchmarks"
FILES = {path.stem.removeprefix("test_"): path for path in sorted(BENCHMARKS_DIR.glob("test_*.py"))}
GUIDE = Path(__file__).parents[5] / "docs/develop/before-a-release.md"


@pytest.mark.parametrize("name", FILES)
def test_a_benchmark_is_selected_alone_by_its_name(name: str) -> None:
    selected = [
        other
        for other, path in FILES.items()
        if name in path.name or any(name in test for test in names_of_tests(path))
    ]

    assert selected == [name]


@pytest.mark.parametrize("name", FILES)
def test_the_guide_says_how_many_minutes_a_benchmark_takes(name: str) -> None:
    assert re.search(rf"^\| `{name}` \| \d+ \|", GUIDE.read_text(), re.MULTILINE)


def names_of_tests(path: Path) -> list[str]:
    """Return the functions of a file that pytest runs."""
    return re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
