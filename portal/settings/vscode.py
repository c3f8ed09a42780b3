"""The table [vscode] of portal.toml."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from dataclasses import dataclass
from pathlib import Path

from portal.settings.validators import url
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class VSCodeSettings:
    """VS Code in a tab of a session (code-server). Nodes without the program do not offer it."""

    enabled: bool = setting("Whether sessions offer it.", default=True)
    program: Path = setting(
        "The program on the compute nodes that starts code-server.",
        default=Path("/opt/data-scientist-portal/code-server/bin/code-server"),
    )
    gallery: str = setting(
        "Gallery of extensions, a server of Open VSX. Users' browsers and the nodes have to reach"
        " it. Empty: none. Users can still install extensions from files.",
        default="https://open-vsx.org",
        check=url(
            "https",
            "http",
            sentence='it must look like "https://open-vsx.org".',
            may_have_path=True,
        ),
    )
