"""Notebook server side: TensorBoards, templates and the session on the compute node."""

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    from portal.server.extension import PortalServer

    return [{"module": "portal.server.extension", "app": PortalServer}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "data-scientist-portal"}]
