"""What the hub tells a session in tests: tables of portal.toml, in which all that can be off is."""

import json
from collections.abc import Mapping
from typing import Any

from portal.settings.session_tables import SessionTables, read_settings

VARIABLE = "PORTAL_SETTINGS"
OFF: dict[str, dict[str, Any]] = {
    "site": {"name": ""},
    "clock": {"warnings_minutes": []},
    "meter": {"interval_s": 0},
    "notebooks": {"save_output": False},
    "files": {"resumable_uploads": False, "archives": False, "previews": False},
    "environments": {"xprof": "/absent"},
    "mlflow": {"enabled": False},
    "git": {"enabled": False, "course_hosts": []},
    "vscode": {"enabled": False},
    "ssh": {"limit": 0},
}


def told(**tables: Mapping[str, Any]) -> dict[str, str]:
    """Return the variable of a session, with keys of these tables over what is off."""
    names = {*OFF, *tables}
    merged = {name: {**OFF.get(name, {}), **tables.get(name, {})} for name in names}
    return {VARIABLE: json.dumps(merged)}


def tables(**tables: Mapping[str, Any]) -> SessionTables:
    """Return the same as a session reads it."""
    return read_settings(told(**tables))
