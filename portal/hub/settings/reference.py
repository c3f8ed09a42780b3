"""Generates the example file and the reference of portal.toml from the dataclasses."""

import json
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import MISSING, Field, fields
from enum import Enum
from pathlib import Path
from typing import Any

from portal.hub.settings.clusters import ClusterSettings
from portal.hub.settings.limits import GroupSettings, LimitSettings
from portal.hub.settings.loader import TABLES
from portal.hub.settings.named_storage import NamedStorageSettings
from portal.hub.settings.partitions import PartitionSettings
from portal.settings.tools import ToolSettings
from spawner.options.traits import COMPOSED, WITH_TRAITS, SiteTraits
from spawner.settings.schema import default_of, kind_name, kinds_of, rule_of
from spawner.settings.traits import traits_of

# Tables of which a site may have any number, under names of its own.
NAMED_TABLES: dict[str, type] = {
    "partitions": PartitionSettings,
    "groups": GroupSettings,
    "users": LimitSettings,
    "storage": NamedStorageSettings,
    "tools": ToolSettings,
    "clusters": ClusterSettings,
}
_REFERENCE_HEAD = """\
# Settings

Every table and key of portal.toml.
"""
_EACH = "One such table for each."
_TRAITS_HEAD = """\
## SlurmGPUSpawner

Keys that are traits of the spawner, too, say so: a hub of the site's own sets these in
jupyterhub_config.py, `c.SlurmGPUSpawner.session_hours = 2`. These traits have no key, and hardly
any site has a reason to change them; with the portal set one below `apply_settings`.

| trait | default | meaning |
|---|---|---|"""
EXAMPLE_WIDTH = 98
EXAMPLE_PARTITION = "jupyter"
EXAMPLE_HEAD = """\
# Settings of the Data Scientist Portal, read when the hub starts.
# A key that is commented out shows its default. 'dsportal config check' checks a changed file.
"""


def example_toml() -> str:
    """Return a complete portal.toml, each key with its description.

    Returns:
        TOML that `load_settings` accepts. Keys with a default are commented out, unless every site
        has to choose.
    """
    tables = [_example_table(name, cls) for name, cls in TABLES.items()]
    partition = _example_table(f"partitions.{EXAMPLE_PARTITION}", PartitionSettings)
    offered = partition.replace(_doc(PartitionSettings), f"{_doc(PartitionSettings)} {_EACH}")
    optional = [
        _optional_table("groups.students", GroupSettings),
        _optional_table("users.ada", LimitSettings),
        _optional_table("storage.scratch", NamedStorageSettings),
        _optional_table("tools.netron", ToolSettings),
        _optional_table("clusters.volta", ClusterSettings),
    ]
    return "\n".join([EXAMPLE_HEAD, *tables, offered, *optional])


def reference_markdown() -> str:
    """Return the description of every table and key as Markdown: a section for each table."""
    sections = [_reference_table(name, cls) for name, cls in TABLES.items()]
    for name, cls in NAMED_TABLES.items():
        section = _reference_table(f"{name}.NAME", cls)
        each = f"{_EACH} At least one is required." if name == "partitions" else _EACH
        sections.append(section.replace(_doc(cls), f"{_doc(cls)} {each}"))
    return "\n".join([_REFERENCE_HEAD, *sections, _reference_traits()])


def toml_value(value: Any) -> str:
    """Return a setting's `value` as TOML that reads back as the same value."""
    # Only here: every command of `dsportal` loads this module.
    import tomlkit

    # First: a bool is also an int.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return toml_value(value.value)
    if isinstance(value, (str, Path)):
        return tomlkit.string(str(value)).as_string()
    if isinstance(value, tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, dict):
        pairs = (f"{name} = {toml_value(item)}" for name, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, float) and not value.is_integer():
        return repr(value)
    # A whole number is read for a float, too.
    return str(int(value))


def _example_table(name: str, cls: type) -> str:
    lines = [_comment(_doc(cls)), f"[{name}]"]
    for key in fields(cls):
        lines.append(_comment(rule_of(key).doc))
        lines.extend(_example_lines(key))
    return "\n".join(lines) + "\n"


def _optional_table(name: str, cls: type) -> str:
    head = _comment(f"{_doc(cls)} {_EACH} None is needed.")
    lines = [line for line in _example_table(name, cls).splitlines() if not line.startswith("#")]
    return "\n".join([head, *(f"#: {line}" for line in lines)]) + "\n"


def _example_lines(key: Field[Any]) -> Iterator[str]:
    example = rule_of(key).example
    if default_of(key) is MISSING or rule_of(key).needed:
        yield f"{key.name} = {toml_value(example)}"
    else:
        yield f"# {key.name} = {toml_value(default_of(key))}"
        if example is not None:
            yield f"{key.name} = {toml_value(example)}"


def _reference_table(name: str, cls: type) -> str:
    kinds, traits = kinds_of(cls), traits_of(cls) if issubclass(cls, WITH_TRAITS) else {}
    head = f"## [{name}]\n\n{_doc(cls)}\n\n| key | kind | default | meaning |\n|---|---|---|---|"
    rows = [
        f"| `{key.name}` | {_kind(key, kinds)} | {_default(key)} |"
        f" {rule_of(key).doc}{_trait_words(key, traits)} |"
        for key in fields(cls)
    ]
    return "\n".join([head, *rows]) + "\n"


def _reference_traits() -> str:
    rows = [
        f"| `{name}` | `{json.dumps(trait.default())}` | {trait.help} |"
        for name, trait in SiteTraits.class_traits(config=True).items()
        if name not in {*traits_of(*WITH_TRAITS), *COMPOSED}
    ]
    return "\n".join([_TRAITS_HEAD, *(" ".join(row.split()) for row in rows)]) + "\n"


def _trait_words(key: Field[Any], traits: Collection[str]) -> str:
    name = rule_of(key).trait or key.name
    return f" Trait `{name}`." if name in traits else ""


def _kind(key: Field[Any], kinds: dict[str, Any]) -> str:
    rule, name = rule_of(key), kind_name(kinds[key.name])
    name = name.removeprefix("a ").removeprefix("an ")
    if rule.lowest is None or rule.highest is None:
        return name
    return f"{name}, {rule.lowest:.4g} to {rule.highest:g}"


def _default(key: Field[Any]) -> str:
    if default_of(key) is MISSING:
        return "required"
    return rule_of(key).needed or f"`{toml_value(default_of(key))}`"


def _doc(cls: type) -> str:
    return " ".join((cls.__doc__ or "").split())


def _comment(text: str) -> str:
    # Options such as --test-only would be torn apart.
    return textwrap.fill(
        text, EXAMPLE_WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
