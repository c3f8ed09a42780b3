"""The tools of a session that this benchmark switches on and off."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from portal.hub.session_environment import EXTENSIONS_OFF
from tests.support.told import VARIABLE, told

ENVIRONMENTS = "/opt/data-scientist-portal/environments"
# For code-server and MLflow, which start when their tab is opened: before that, only whether the
# program is there matters.
NEVER_STARTED = "/usr/bin/env"
ON, OFF = "all", "none"


@dataclass(frozen=True, slots=True)
class SessionTool:
    """One tool.

    Attributes:
        asked: Paths that its part of the first page asks for.
    """

    table: str
    told: Mapping[str, Any]
    asked: tuple[str, ...] = field(default=())


TOOLS = {
    "vscode": SessionTool(
        "[vscode]", {"vscode": {"enabled": True, "program": NEVER_STARTED}}, ("portal/api/tools",)
    ),
    "ssh": SessionTool("[ssh] limit", {"ssh": {"limit": 16}}),
    "output": SessionTool("[notebooks] save_output", {"notebooks": {"save_output": True}}),
    "sharing": SessionTool("[sharing]", {"sharing": {"enabled": True}}),
    "git": SessionTool("[git]", {"git": {"enabled": True, "course_hosts": ["github.com"]}}),
    "mlflow": SessionTool("[mlflow]", {"mlflow": {"enabled": True}}, ("portal/api/tools",)),
    "files": SessionTool(
        "[files]", {"files": {"resumable_uploads": True, "archives": True, "previews": True}}
    ),
    "meter": SessionTool(
        "[meter]",
        {"meter": {"interval_s": 5.0}, "clock": {"warnings_minutes": [30, 15, 5]}},
        ("portal/api/session", "portal/api/session/history", "portal/api/session/activity"),
    ),
    "tensorboard": SessionTool(
        "TensorBoard's button",
        {"environments": {"tensorboard": f"{ENVIRONMENTS}/tensorboard"}},
        ("portal/api/tensorboards",),
    ),
    "jobs": SessionTool("jobs and runs", {}, ("portal/api/jobs",)),
}


def names_of(variant: str) -> tuple[str, ...]:
    """Return the tools that are on."""
    return {ON: tuple(TOOLS), OFF: ()}.get(variant, (variant,))


def settings_of(variant: str) -> str:
    """Return what the hub tells the session, as the value of its variable."""
    tables = {key: value for name in names_of(variant) for key, value in TOOLS[name].told.items()}
    return told(extensions=_extensions_of(variant), site={"name": "Benchmark"}, **tables)[VARIABLE]


def _extensions_of(variant: str) -> dict[str, bool]:
    off = dict.fromkeys(EXTENSIONS_OFF, False)
    return {"portal.server": True, "jupyterlab_git": "git" in names_of(variant), **off}


def asked_of(variant: str) -> tuple[str, ...]:
    """Return the paths that the tools of the first page ask for."""
    return tuple(dict.fromkeys(path for name in names_of(variant) for path in TOOLS[name].asked))
