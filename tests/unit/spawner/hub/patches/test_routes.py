"""Handlers of ours on JupyterHub's routes."""

from __future__ import annotations

from typing import Any

import pytest
from jupyterhub import apihandlers, handlers
from jupyterhub.apihandlers import APIHandler
from jupyterhub.apihandlers.auth import TokenAPIHandler
from jupyterhub.apihandlers.hub import RootAPIHandler
from jupyterhub.apihandlers.users import UserServerAPIHandler
from jupyterhub.handlers.base import UserUrlHandler
from jupyterhub.handlers.pages import SpawnHandler
from tornado.web import RequestHandler

import portal.hub.apply  # noqa: F401 - which loads the spawner, and so replaces what it replaces
from portal.hub.form import handlers as form
from portal.hub.network import refusals
from portal.hub.pages import error_sentences
from spawner.hub.patches import routes


class Ours(RequestHandler):
    """A handler in the place of another one."""


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """JupyterHub's list, with two routes in it."""
    known = [("/api/info", APIHandler), ("/api/batchspawner", APIHandler, {"a": 1})]
    monkeypatch.setattr(routes, "_LISTS", (known,))
    monkeypatch.setattr(apihandlers, "default_handlers", known)
    return known


def test_a_route_is_added_once_and_takes_the_place_of_another(known: list[Any]) -> None:
    for _ in range(2):
        routes.add_api_routes([("/api/info", Ours)], without="/api/batchspawner")

    assert known == [("/api/info", Ours)]


def test_a_handler_is_replaced_on_all_its_routes(known: list[Any]) -> None:
    routes.replace_handlers({APIHandler: Ours})

    assert known == [("/api/info", Ours), ("/api/batchspawner", Ours, {"a": 1})]


def test_jupyterhub_has_no_route_left_with_a_handler_that_is_replaced() -> None:
    """Red when JupyterHub gives one of these classes another name or place."""
    for feature in (form, refusals, error_sentences):
        feature.register()
    on_routes = {route[1] for route in (*handlers.default_handlers, *apihandlers.default_handlers)}

    assert form.FormHandler in on_routes
    assert {refusals.RootHandler, refusals.GoneHandler, refusals.StartHandler} <= on_routes
    assert error_sentences.NotRunningHandler in on_routes
    assert not on_routes & {
        *(SpawnHandler, RootAPIHandler, TokenAPIHandler, UserServerAPIHandler, UserUrlHandler)
    }
