"""Says which routes an application of Tornado has."""

from __future__ import annotations

from typing import Any

from tornado.web import RequestHandler

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def routes_of(router: Any) -> list[dict[str, Any]]:
    """Return the routes of an application's router.

    Returns:
        For each its `pattern`, its `handler` by full name and the `methods` that it defines.
    """
    found: list[dict[str, Any]] = []
    for rule in router.rules:
        handler = rule.target
        if hasattr(handler, "rules"):
            found += routes_of(handler)
            continue
        found.append({
            "pattern": rule.matcher.regex.pattern,
            "handler": f"{handler.__module__}.{handler.__name__}",
            "methods": [method for method in METHODS if _has(handler, method.lower())],
        })  # fmt: skip
    return found


def _has(handler: Any, name: str) -> bool:
    return getattr(handler, name, None) is not getattr(RequestHandler, name)
