"""Pages of the user's own programs on ports of the session, such as Dash or Gradio."""

from __future__ import annotations

import os

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.ports.handlers import port_routes
from portal.server.ports.key import PortKey


def load(shared: Shared) -> Feature:
    """Forward to ports, with a new key whenever a guest who had it has to leave."""
    key = PortKey(shared.server.base_url, os.environ)
    shared.on_guest_end.append(key.renew)
    return Feature(routes=port_routes(key))


PLUGIN = Plugin(load)
