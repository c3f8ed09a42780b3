"""Revisions of the protocol: those with a handshake, and those whose requests name their own. Pure.

Source:
    Model Context Protocol, revisions 2025-11-25 and 2026-07-28: "Lifecycle", "server/discover".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsportal import __version__

# The newest first: a client that knows none of them is told that one.
HANDSHAKE = ("2025-11-25", "2025-06-18", "2024-11-05")
STATELESS = ("2026-07-28",)
INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32600, -32601, -32602
PARSE_ERROR, UNSUPPORTED_VERSION = -32700, -32022
_PREFIX = "io.modelcontextprotocol"
_SERVER = {"name": "dsportal", "version": __version__}
_ABILITIES: Mapping[str, Any] = {"capabilities": {"tools": {}}}
# Other users may be told other tools.
_NOT_TO_KEEP: Mapping[str, Any] = {"cacheScope": "private", "ttlMs": 0}
_TO_KEEP = {"server/discover", "tools/list"}


class RequestError(Exception):
    """A request that the protocol refuses.

    Args:
        data: More for the client's program.
    """

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


def initialized(params: Mapping[str, Any], instructions: str) -> dict[str, Any]:
    """Return the answer to a handshake.

    Args:
        params: The client's "protocolVersion", among others.
    """
    asked = params.get("protocolVersion")
    version = asked if asked in HANDSHAKE else HANDSHAKE[0]
    return {
        "protocolVersion": version,
        **_ABILITIES,
        "serverInfo": _SERVER,
        "instructions": instructions,
    }


def discovered(instructions: str) -> dict[str, Any]:
    """Return the answer to what is asked in place of a handshake."""
    return {"supportedVersions": [*STATELESS], **_ABILITIES, "instructions": instructions}


def is_stateless(params: Mapping[str, Any]) -> bool:
    """Return whether a request names its revision.

    Args:
        params: Those of the request, with "_meta" if it does.

    Raises:
        RequestError: If it names one that is not known.
    """
    meta = params.get("_meta")
    asked = meta.get(f"{_PREFIX}/protocolVersion") if isinstance(meta, dict) else None
    if asked is None:
        return False
    if asked not in STATELESS:
        raise RequestError(
            UNSUPPORTED_VERSION,
            f"This server does not know the revision {asked}.",
            {"supported": [*STATELESS, *HANDSHAKE], "requested": str(asked)},
        )
    return True


def as_stateless(method: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result as a request wants it that names its revision."""
    return {
        "_meta": {f"{_PREFIX}/serverInfo": _SERVER},
        "resultType": "complete",
        **(_NOT_TO_KEEP if method in _TO_KEEP else {}),
        **result,
    }
