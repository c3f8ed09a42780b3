"""Pages of the user's own programs on ports of the session, such as Dash or Gradio."""

import os

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.ports.handlers import port_routes
from portal.server.ports.key import PortKey

DASK_VARIABLE = "DASK_DISTRIBUTED__DASHBOARD__LINK"


def dask_link(base_url: str) -> str:
    """Return the template of the links that Dask prints to its dashboard.

    Source:
        distributed 2026.8, `format_dashboard_link`: {port} and the variables of the environment.
    """
    return f"{base_url}port/{{port}}/status"


def load(shared: Shared) -> Feature:
    """Forward to ports, with a new key whenever a guest who had it has to leave."""
    base_url = shared.server.base_url
    key = PortKey(base_url, os.environ)
    # Not over what the site's prologue or the user has chosen.
    os.environ.setdefault(DASK_VARIABLE, dask_link(base_url))
    shared.on_guest_end.append(key.renew)
    return Feature(routes=port_routes(key))


PLUGIN = Plugin(load)
