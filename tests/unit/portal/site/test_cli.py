"""The administrators' commands."""

import re
from importlib import import_module
from pathlib import Path

from portal.site import cli


def test_each_command_has_its_function() -> None:
    """They are imported when one runs, by name."""
    text = Path(str(cli.__file__)).read_text()
    found = re.findall(r'_command\("(\w+)", "(\w+)"(?:, room="(\w+)")?\)', text)

    assert len(found) == text.count("set_defaults(")
    for module, name, room in found:
        assert callable(getattr(import_module(f"portal.site.{room or 'commands'}.{module}"), name))
