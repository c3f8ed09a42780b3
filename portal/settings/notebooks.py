"""The table [notebooks] of portal.toml."""

from dataclasses import dataclass

from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class NotebookSettings:
    """Notebooks whose page was closed while their cells run."""

    save_output: bool = setting(
        "Whether sessions save what cells show into notebooks that no page has shown for ten"
        " minutes, and into all of them when they end.",
        default=True,
    )
