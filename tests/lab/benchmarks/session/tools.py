"""The tools of a session that this benchmark switches on and off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spawner.session_settings import SessionSettings

ENVIRONMENTS = "/opt/data-scientist-portal/environments"
# For code-server and MLflow, which start when their tab is opened: before that, only whether the
# program is there matters.
NEVER_STARTED = "/usr/bin/env"
ON, OFF = "all", "none"


@dataclass(frozen=True, slots=True)
class SessionTool:
    """One tool.

    Attributes:
        table: What switches it on in portal.toml.
        told: What the hub tells the session then.
        asked: Paths that its part of the first page asks for.
    """

    table: str
    told: Mapping[str, Any]
    asked: tuple[str, ...] = field(default=())


TOOLS = {
    "vscode": SessionTool("[vscode]", {"vscode_program": NEVER_STARTED}, ("portal/api/tools",)),
    "ssh": SessionTool("[ssh] limit", {"ssh_limit": 16, "ssh_forwards_ports": True}),
    "output": SessionTool("[notebooks] save_output", {"saves_output": True}),
    "sharing": SessionTool("[sharing]", {"is_shareable": True}),
    "git": SessionTool("[git]", {"git": True, "course_hosts": ["github.com"]}),
    "mlflow": SessionTool("[mlflow]", {"mlflow_python": NEVER_STARTED}, ("portal/api/tools",)),
    "files": SessionTool(
        "[files]", {"resumable_uploads": True, "archives": True, "previews": True}
    ),
    "meter": SessionTool(
        "[meter]",
        {"meter_interval_s": 5.0, "warnings_s": [1800, 900, 300]},
        ("portal/api/session", "portal/api/session/history", "portal/api/session/activity"),
    ),
    "tensorboard": SessionTool(
        "TensorBoard's button",
        {"tensorboard_python": f"{ENVIRONMENTS}/tensorboard/bin/python", "tensorboard_limit": 8},
        ("portal/api/tensorboards",),
    ),
    "runs": SessionTool(
        "list of runs", {"runs_most_mib": 10_240, "runs_newest_kept": 20}, ("portal/api/runs",)
    ),
}


def names_of(variant: str) -> tuple[str, ...]:
    """Return the tools that are on.

    Args:
        variant: ON, OFF or the name of one.
    """
    return {ON: tuple(TOOLS), OFF: ()}.get(variant, (variant,))


def settings_of(variant: str) -> str:
    """Return what the hub tells the session, as the value of its variable."""
    told = {key: value for name in names_of(variant) for key, value in TOOLS[name].told.items()}
    return SessionSettings(site_name="Benchmark", any_port=True, **told).to_json()


def asked_of(variant: str) -> tuple[str, ...]:
    """Return the paths that the tools of the first page ask for."""
    return tuple(dict.fromkeys(path for name in names_of(variant) for path in TOOLS[name].asked))
