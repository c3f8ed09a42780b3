"""Terminals find the commands of sessions after the login of their shell."""

from functools import partial

from portal.server.base.commands import equip_terminals
from portal.server.base.feature import Feature, Plugin, Shared


def load(shared: Shared) -> Feature:
    """Equip them once Jupyter's own extension has made their manager."""
    return Feature(start=partial(equip_terminals, shared.server))


PLUGIN = Plugin(load)
