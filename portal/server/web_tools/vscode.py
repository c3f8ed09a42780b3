"""VS Code in a tab: how code-server is started so that it fits into a session."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from portal.server.web_tools.tool import WebTool, tool_path
from portal.settings.session_tables import SessionTables

NAME = "vscode"
# A unix socket's address holds 107 bytes. VS Code's names take 52 of them, such as
# vscode-ipc-4b0a7c1e-8a5e-4d4f-9c57-6f9b0b7f5f6e.sock.
_MAX_SOCKETS_DIR_BYTES = 107 - 52 - 1
# The portal answers for who gets here; a file of the user's own could open a port or ask for a
# password.
_CONFIG = "auth: none\n"
_ASSETS = "Microsoft.VisualStudio.Code.WebResources/{path}"


def vscode_tool(
    settings: SessionTables,
    private_dir: Path,
    folder: str,
    port_prefix: str,
    *,
    kernels: Sequence[Path] = (),
) -> WebTool | None:
    """Return VS Code, or None if the site or this node does not have it.

    Args:
        settings: Name the program and the gallery.
        private_dir: Folder that only the user can enter; gets the configuration and sockets.
        folder: Opened at first.
        port_prefix: Path in front of the number of a port of the user's programs.
        kernels: Folders of kernelspecs beside the shipped ones, each called "kernels".
    """
    program = str(settings.vscode.program) if settings.vscode.enabled else ""
    if not program or not os.access(program, os.X_OK) or not private_dir.is_dir():
        return None
    config = private_dir / "code-server.yaml"
    config.write_text(_CONFIG)
    command = (
        program,
        *("--socket", "{unix_socket}", "--socket-mode", "600", "--auth", "none"),
        *("--config", str(config), "--session-socket", str(private_dir / "code-server")),
        # Its own would lead to every port of the node, whoever listens.
        "--disable-proxy",
        *("--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"),
        *(["--disable-file-downloads"] if not settings.files.downloads else []),
        *("--app-name", "VS Code", folder),
    )
    return WebTool(
        title="VS Code",
        command=command,
        path=tool_path(NAME),
        environment=_environment(settings, private_dir, port_prefix, kernels),
        # An open window asks all the time; its extension tells when somebody uses it.
        requests_are_use=False,
        asks=(port_prefix, *_galleries(settings.vscode.gallery)),
    )


def _environment(
    settings: SessionTables, private_dir: Path, port_prefix: str, kernels: Sequence[Path]
) -> dict[str, str]:
    # The shipped ones first: no environment can replace one of them.
    data_dirs = (f"{sys.prefix}/share/jupyter", *(str(folder.parent) for folder in kernels))
    variables = {
        # What the Python extension starts unless its user chooses another.
        "PORTAL_PYTHON": sys.executable,
        "EXTENSIONS_GALLERY": json.dumps(_gallery(settings.vscode.gallery)),
        # The portal's own way to a port, which checks who listens there.
        "VSCODE_PROXY_URI": port_prefix + "{{port}}/",
        # Where extensions look for kernels.
        "JUPYTER_PATH": os.pathsep.join(filter(None, (os.environ.get("JUPYTER_PATH"), *data_dirs))),
    }
    if len(os.fsencode(private_dir)) <= _MAX_SOCKETS_DIR_BYTES:
        # Else VS Code's sockets are in /tmp, with the rights that the user's umask leaves.
        variables["XDG_RUNTIME_DIR"] = str(private_dir)
    return variables


def _galleries(address: str) -> list[str]:
    # With the slash, all that is below it counts.
    return [f"{address.rstrip('/')}/"] if address else []


def _gallery(address: str) -> dict[str, str]:
    """Return the gallery in VS Code's words.

    Source:
        The default of code-server's out/server-main.js, which is for the same server.
    """
    base = address.rstrip("/")
    if not base:
        return {}
    return {
        "serviceUrl": f"{base}/vscode/gallery",
        "itemUrl": f"{base}/vscode/item",
        "extensionUrlTemplate": f"{base}/vscode/gallery/{{publisher}}/{{name}}/latest",
        "resourceUrlTemplate": f"{base}/vscode/asset/{{publisher}}/{{name}}/{{version}}/{_ASSETS}",
        "controlUrl": "",
        "recommendationsUrl": "",
    }
