"""Others in a session: who was here, and what guests may do."""

import os

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.sharing.guest_gate import GuestGate
from portal.server.sharing.visitors import Visitors


def load(shared: Shared) -> Feature:
    """Report visitors to the hub, and refuse what a guest may not do."""
    page_data = {"portalShares": shared.settings.sharing.enabled}
    owner = os.environ.get("JUPYTERHUB_USER", "")
    if not owner:
        return Feature(page_data=page_data)
    server = shared.server
    Visitors(owner, shared.hub, shared.log).watch(server.identity_provider)
    if not shared.settings.sharing.enabled:
        return Feature(page_data=page_data)

    def end_guest() -> None:
        for forget in shared.on_guest_end:
            forget()

    gate = GuestGate(owner, shared.log, shared.guest_rights, server.base_url, end_guest)
    gate.watch(server.identity_provider)
    return Feature(page_data=page_data, start=gate.start, stop=gate.stop)


PLUGIN = Plugin(load)
