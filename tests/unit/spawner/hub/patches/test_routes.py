"""Handlers of ours on JupyterHub's routes."""

from jupyterhub import apihandlers, handlers
from jupyterhub.apihandlers.auth import TokenAPIHandler
from jupyterhub.apihandlers.hub import RootAPIHandler
from jupyterhub.apihandlers.users import UserServerAPIHandler
from jupyterhub.handlers.base import UserUrlHandler
from jupyterhub.handlers.pages import SpawnHandler

import spawner.spawner  # noqa: F401 - which registers its routes
from portal.hub.form import handlers as form
from portal.hub.network import refusals
from portal.hub.pages import error_sentences
from spawner.hub import port_api


def test_jupyterhub_has_no_route_left_with_a_handler_that_is_replaced() -> None:
    """Red when JupyterHub gives one of these classes another name or place."""
    # A hub may read its configuration twice.
    for feature in (form, refusals, error_sentences) * 2:
        feature.register()
    routes = [*handlers.default_handlers, *apihandlers.default_handlers]
    on_routes = {route[1] for route in routes}

    assert [path for path, *_ in routes].count(port_api.ROUTE) == 1
    assert "/api/batchspawner" not in {path for path, *_ in routes}
    assert form.FormHandler in on_routes
    assert {refusals.RootHandler, refusals.GoneHandler, refusals.StartHandler} <= on_routes
    assert error_sentences.NotRunningHandler in on_routes
    assert not on_routes & {
        *(SpawnHandler, RootAPIHandler, TokenAPIHandler, UserServerAPIHandler, UserUrlHandler)
    }
