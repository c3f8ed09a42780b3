"""What the report says that each tool adds."""

from __future__ import annotations

from tests.benchmarks.session.server import Memory, Start
from tests.benchmarks.session.start import VARIANTS, figures_of, table_of
from tests.benchmarks.session.tools import OFF, ON, TOOLS


def start_of(start_s: float, pss: float) -> Start:
    memory = Memory(rss=pss, pss=pss)
    return Start(start_s=start_s, cpu_s=start_s / 2, started=memory, shown=memory)


def starts() -> dict[str, list[Start]]:
    found = {variant: [start_of(2.0, 60.0), start_of(4.0, 60.0)] for variant in VARIANTS}
    found[ON] = [start_of(2.2, 75.0), start_of(4.2, 75.0)]
    found["git"] = [start_of(2.1, 64.0), start_of(4.3, 66.0)]
    return found


def test_the_ratio_is_that_of_two_starts_of_the_same_round() -> None:
    figures = figures_of(starts())

    assert figures["start_all_vs_none"].values == [2.2 / 2.0, 4.2 / 4.0]
    assert figures["pss_all_mib"].median == 75.0


def test_what_a_tool_adds_is_told_with_its_spread() -> None:
    table = table_of(starts())
    rows = {row[0]: row[1:] for row in table.rows}

    assert len(table.rows) == len(TOOLS) + 1
    assert rows["[git]"][0] == "0.200 (0.100 to 0.300)"
    assert rows["[git]"][3] == "5.0 (4.0 to 6.0)"
    assert rows["all of them"][3] == "15.0 (15.0 to 15.0)"


def test_every_start_is_told_apart() -> None:
    assert len(VARIANTS) == len(TOOLS) + 2
    assert {OFF, ON} & set(TOOLS) == set()
