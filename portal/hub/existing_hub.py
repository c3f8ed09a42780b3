"""Adds the portal's spawner with its form and pages to a JupyterHub that a site already has."""

from collections.abc import Mapping
from typing import Any

from jupyterhub.app import JupyterHub
from traitlets.config.loader import LazyConfigValue

from portal.hub.form import handlers
from portal.hub.form.form import make_options_form
from portal.hub.pages.base import HUB_DIR, STATIC_ROUTE, TEMPLATES_DIR, PortalView, static_route
from portal.hub.pages.failure_view import describe_ending, describe_failure
from portal.hub.pages.session_state import describe_request
from portal.hub.pages.start_view import describe_start
from portal.hub.pages.stop_handler import stop_route
from portal.hub.start_check import report_lacks
from spawner.errors import SettingsError
from spawner.hub.patches.application import before_sessions
from spawner.hub.patches.routes import add_page_routes
from spawner.settings.forecast import ForecastSettings
from spawner.settings.schema import closest
from spawner.spawner import SlurmGPUSpawner

SPAWNER = "slurm-gpu"
# Pages of a session, each with what it needs besides the site's own page.html. They extend the
# portal's, by their names below the second folder.
OWN_TEMPLATES = (TEMPLATES_DIR / "existing_hub", HUB_DIR.parent)


def add_spawner(c: Any, traits: Mapping[str, Any]) -> None:
    """Add the form, the pages of a session and their routes; `spawner.configure` says more.

    `c` is JupyterHub's configuration; `traits` are values by trait of `SlurmGPUSpawner`.
    """
    hub, spawner = c.JupyterHub, c.SlurmGPUSpawner
    known = SlurmGPUSpawner.class_trait_names(config=True)
    for name, value in traits.items():
        if name not in known:
            raise SettingsError(
                f"spawner.configure: SlurmGPUSpawner has no trait '{name}'."
                f"{closest(name, known)} 'jupyterhub --generate-config' lists them."
            )
        spawner[name] = value
    hub.setdefault("spawner_class", SPAWNER)
    if "options_form" not in spawner:
        simulated = bool(spawner.get("simulated_gpus", False))
        spawner.options_form = make_options_form(
            simulated_gpus=simulated, wait_s=ForecastSettings().wait_s
        )
    # Behind the site's own, so that these count where both have a page.
    folders = [str(folder) for folder in OWN_TEMPLATES]
    hub.template_paths = _with_more(hub.get("template_paths"), folders)
    routes = [static_route(), handlers.choices_route(), stop_route()]
    named = {route[0] for route in _with_more(hub.get("extra_handlers"), [])}
    # JupyterHub calls its setting extra_handlers deprecated, in the log of each start.
    add_page_routes(route for route in routes if route[0] not in named)
    hub.template_vars = _template_vars() | _plain(hub.get("template_vars"), {})
    # Before JupyterHub collects its routes and takes up its sessions.
    handlers.register()
    before_sessions(report_lacks)


def _template_vars() -> dict[str, Any]:
    # JupyterHub calls a callable with the user, so functions have to be wrapped.
    return {
        "portal": lambda _user: PortalView(
            name="JupyterHub",
            support="",
            simulated_gpus=False,
            # Only now: base_url may be set after this, or on the command line.
            static_url=f"{JupyterHub.instance().hub_prefix}{STATIC_ROUTE}",
        ),
        "describe_request": lambda _user: describe_request,
        "describe_start": lambda _user: describe_start,
        "describe_ending": lambda _user: describe_ending,
        "describe_failure": lambda _user: describe_failure,
    }


def _with_more(value: Any, more: list[Any]) -> list[Any]:
    there = list(_plain(value, []))
    return [*there, *(one for one in more if one not in there)]


def _plain(value: Any, default: Any) -> Any:
    # What a configuration file has appended to, without setting it.
    if isinstance(value, LazyConfigValue):
        return value.get_value(default)
    return default if value is None else value
