"""The settings describe themselves: an example file and a reference, from the dataclasses."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import Field, fields
from enum import Enum
from pathlib import Path
from typing import Any, get_type_hints

from portal.hub.schema import is_required, kind_name, rule_of
from portal.hub.settings import TABLES
from portal.hub.tables import PartitionSettings
from portal.hub.tool_tables import ToolSettings

EXAMPLE_WIDTH = 98
EXAMPLE_PARTITION = "jupyter"
EXAMPLE_HEAD = """\
# Settings of the Data Scientist Portal, read when the hub starts.
# A key that is commented out shows its default. 'dsportal config check' checks a changed file.
"""


def example_toml() -> str:
    """Return a complete settings file, each key with its description.

    Returns:
        TOML that `load_settings` accepts. Keys that have a default stand in comments, unless a
        site has to choose.
    """
    tables = [_example_table(name, cls) for name, cls in TABLES.items()]
    partition = _comment(f"{_doc(PartitionSettings)} One such table for each.")
    offered = f"{partition}\n[partitions.{EXAMPLE_PARTITION}]\n"
    tool = _comment(f"{_doc(ToolSettings)} One such table for each; none is needed.")
    example = _example_table("tools.netron", ToolSettings).splitlines()[1:]
    keys = "\n".join(f"#: {line}" for line in example if not line.startswith("#"))
    return "\n".join([EXAMPLE_HEAD, *tables, offered, f"{tool}\n{keys}\n"])


def reference_markdown() -> str:
    """Return the description of every table and key as Markdown.

    Returns:
        A section for each table, with a row for each key: kind, default, range and meaning.
    """
    sections = [_reference_table(name, cls) for name, cls in TABLES.items()]
    sections.append(
        f"### [partitions.NAME]\n\n{_doc(PartitionSettings)} One such table for each; it has no"
        " keys. At least one is required.\n"
    )
    tools = _reference_table("tools.NAME", ToolSettings)
    sections.append(tools.replace(_doc(ToolSettings), f"{_doc(ToolSettings)} One table for each."))
    return "\n".join(sections)


def toml_value(value: Any) -> str:
    """Return a setting as TOML text.

    Args:
        value: A value of one of the types that `read_value` returns.

    Returns:
        Text that reads back as the same value.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return toml_value(value.value)
    if isinstance(value, (str, Path)):
        escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    return f"{value:g}"


def _example_table(name: str, cls: type) -> str:
    lines = [_comment(_doc(cls)), f"[{name}]"]
    for key in fields(cls):
        lines.append(_comment(rule_of(key).doc))
        lines.extend(_example_lines(key))
    return "\n".join(lines) + "\n"


def _example_lines(key: Field[Any]) -> Iterator[str]:
    example = rule_of(key).example
    if is_required(key):
        yield f"{key.name} = {toml_value(example)}"
    else:
        yield f"# {key.name} = {toml_value(key.default)}"
        if example is not None:
            yield f"{key.name} = {toml_value(example)}"


def _reference_table(name: str, cls: type) -> str:
    kinds = get_type_hints(cls)
    head = f"### [{name}]\n\n{_doc(cls)}\n\n| key | kind | default | meaning |\n|---|---|---|---|"
    rows = [
        f"| `{key.name}` | {_kind(key, kinds)} | {_default(key)} | {rule_of(key).doc} |"
        for key in fields(cls)
    ]
    return "\n".join([head, *rows]) + "\n"


def _kind(key: Field[Any], kinds: dict[str, Any]) -> str:
    rule, name = rule_of(key), kind_name(kinds[key.name])
    if rule.lowest is None or rule.highest is None:
        return name
    return f"{name}, {rule.lowest:.4g} to {rule.highest:g}"


def _default(key: Field[Any]) -> str:
    return "required" if is_required(key) else f"`{toml_value(key.default)}`"


def _doc(cls: type) -> str:
    return (cls.__doc__ or "").strip()


def _comment(text: str) -> str:
    return textwrap.fill(
        text, EXAMPLE_WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
