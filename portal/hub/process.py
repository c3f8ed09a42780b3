"""The hub's own process: the only one on its state and database, and quick to answer."""

import gc
import os
import sys

from portal.hub.database_lock import hold_database
from portal.hub.hubs.placement import Hubs
from portal.hub.settings.hub import HubSettings
from portal.hub.state_lock import hold_state
from spawner.errors import SiteError

# What lives long is searched for garbage a hundred times as rarely as by default. Nobody is served
# meanwhile, and thousands of sessions would be searched again and again as they are loaded. What is
# young is searched often, in steps of 11,000 objects, which take some 10 ms.
_GARBAGE = (1000, 10, 1000)
# A thread that reads Slurm's lists or checks a password gives way to the event loop after this
# long. By default the loop waits 5 ms for it after each look at the database or a socket.
_SWITCH_S = 0.0005


def prepare_process(hub: HubSettings, hubs: Hubs | None) -> None:
    """Make this process the hub, before the sessions are read from the database.

    Raises:
        SystemExit: If another hub uses the state_dir or the database, or the folder of all hubs
            cannot be trusted.
    """
    try:
        if not hub.failover:
            hold_state(hub.state_dir)
        # As with the folder: root may load the configuration, too, beside the hub.
        is_own = hub.state_dir.is_dir() and hub.state_dir.stat().st_uid == os.geteuid()
        if hubs and is_own:
            hubs.check()
        if hub.db_url and is_own:
            hold_database(hub.db_url, waits=hub.failover)
    except SiteError as error:
        # One sentence in place of a traceback through the site's configuration file.
        raise SystemExit(f"jupyterhub: {error}") from error
    gc.set_threshold(*_GARBAGE)
    sys.setswitchinterval(_SWITCH_S)
