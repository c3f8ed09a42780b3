"""The tables [tools.NAME] of portal.toml: web tools of the site."""

from dataclasses import dataclass

from portal.settings.validators import check_tool_command
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class ToolSettings:
    """A web tool of the compute nodes, opened in a tab behind the login."""

    command: tuple[str, ...] = setting(
        "The program and its arguments, without a shell. {unix_socket} stands for the socket that"
        " it must listen on. If it can only listen on a port of 127.0.0.1, {port} stands for"
        " one in a network of its own, which needs user namespaces on the nodes.",
        example=("/opt/netron/bin/netron", "--host", "127.0.0.1", "--port", "{port}"),
        check=check_tool_command,
    )
    title: str = setting("Name shown to users. By default that of the table.", default="")
