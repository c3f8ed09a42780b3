"""JupyterHub's lists of routes: handlers of ours in the place of its own.

`JupyterHub.extra_handlers` comes behind these lists, so what is in them cannot be replaced there.

Source:
    JupyterHub 6.1.1, `handlers.default_handlers` and `apihandlers.default_handlers`.

Shown by:
    tests/unit/spawner/hub/patches/test_routes.py
"""

from collections.abc import Iterable, Mapping
from typing import Any

from jupyterhub import apihandlers, handlers

_LISTS = (handlers.default_handlers, apihandlers.default_handlers)


def add_page_routes(routes: Iterable[tuple[Any, ...]]) -> None:
    """Add routes of pages, each in the place of all that have its path."""
    _put(handlers.default_handlers, list(routes))


def add_api_routes(routes: Iterable[tuple[Any, ...]], *, without: str = "") -> None:
    """Add routes of the REST interface, as for pages; those of the path `without` go."""
    _put(apihandlers.default_handlers, list(routes), without)


def replace_handlers(replacements: Mapping[type, type]) -> None:
    """Replace handlers, by the class that JupyterHub has on a route."""
    for known in _LISTS:
        known[:] = [(route[0], replacements.get(route[1], route[1]), *route[2:]) for route in known]


def _put(known: list[Any], new: list[tuple[Any, ...]], without: str = "") -> None:
    paths = {without, *(route[0] for route in new)}
    known[:] = [*(route for route in known if route[0] not in paths), *new]
