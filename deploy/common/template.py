"""Plain files with names between "@", such as @LOG_DIR@, in place of what only the code knows."""

import re
from collections.abc import Mapping
from pathlib import Path

_NAME = re.compile(r"@([A-Z][A-Z_]*)@")


def fill(template: Path, values: Mapping[str, object]) -> str:
    """Return a template with one of `values` in place of each name."""
    return _NAME.sub(lambda name: str(values[name[1]]), template.read_text(encoding="utf-8"))
