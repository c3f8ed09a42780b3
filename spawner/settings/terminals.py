"""The table [terminals] of portal.toml."""

from dataclasses import dataclass

from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class TerminalSettings:
    """Terminals in JupyterLab and Notebook."""

    enabled: bool = setting(
        "Whether they are offered. Without them a cell can still run every program, and ssh,"
        " VS Code and desktops have terminals of their own.",
        default=True,
        trait=None,
    )
