"""Pages that fail lead to a rescue session: how its user gets out, whatever file is the cause."""

from collections.abc import MutableMapping
from functools import partial
from pathlib import Path
from typing import Any

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.page import guides_url


def offer_rescue(settings: MutableMapping[str, Any]) -> None:
    """Have errors 500 lead to a rescue session.

    Args:
        settings: Those of the server's web application, with what JupyterHub has set, if there is
            a hub.
    """
    variables = settings["jinja_template_vars"]
    home = variables.get("hub_control_panel_url")
    if home is None:
        return
    hub_url = home.removesuffix("home")
    variables["rescue_url"] = f"{hub_url}spawn?rescue=1"
    variables["guides_url"] = guides_url()
    # Before Jupyter's own folders, in which no template has this name.
    settings["jinja2_env"].loader.searchpath.insert(0, str(Path(__file__).with_name("pages")))


def load(shared: Shared) -> Feature:
    """Offer it once JupyterHub has told where the hub is."""
    return Feature(start=partial(offer_rescue, shared.server.web_app.settings))


PLUGIN = Plugin(load)
