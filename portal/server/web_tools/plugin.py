"""VS Code and the site's own web tools: each starts when its tab is opened."""

import os
from pathlib import Path

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.web_tools.handlers import list_route, offered_tools, tool_handlers
from portal.server.web_tools.vscode import vscode_tool


def load(shared: Shared) -> Feature:
    """Offer those whose programs are on this node."""
    settings, server = shared.settings, shared.server
    # Beside the shipped ones, which are elsewhere.
    offered = (Path(folder) for folder in server.kernel_spec_manager.kernel_dirs)
    vscode = vscode_tool(
        settings,
        shared.private_dir,
        server.root_dir,
        os.environ.get("PORTAL_PORT_PREFIX", ""),
        kernels=[folder for folder in offered if folder.is_relative_to(shared.private_dir)],
    )
    tools = (*filter(None, [vscode]), *offered_tools(settings, server.base_url))
    return Feature(routes=[*tool_handlers(tools, "/"), list_route(tools)])


PLUGIN = Plugin(load)
