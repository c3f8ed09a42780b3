"""What docs/install/own-hub.md tells to do: its fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.lab.foreign.guide import steps_of, with_values

PAGE = Path(__file__).resolve().parents[3] / "docs/install/own-hub.md"
_LINES = re.compile(r"^```python (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands_of(section: str, values: Mapping[str, str]) -> list[str]:
    """Return the commands below a heading, with a site's values in place of the page's."""
    steps = [step for step in steps_of(PAGE.read_text(), values) if step.section == section]
    assert steps, f"the page has no section {section} with something to do"
    return [command for step in steps for command in step.commands]


def lines_of(spawner: str, values: Mapping[str, str]) -> str:
    """Return the lines of `jupyterhub_config.py` for a spawner, the old or the new one."""
    found = dict(_LINES.findall(PAGE.read_text()))
    return with_values(found[spawner], values)
