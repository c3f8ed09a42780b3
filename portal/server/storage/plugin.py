"""The site's shared storage: how full it is, and its files behind links in the home."""

from __future__ import annotations

import os
from pathlib import Path

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.shared_storage import read_storage
from portal.server.storage.files import shared_files
from portal.server.storage.handlers import storage_routes
from portal.server.storage.links import link_storage


def load(shared: Shared) -> Feature:
    """Offer its REST API, and its files under Jupyter's own address of files."""
    storage = read_storage(os.environ)

    def link_all() -> None:
        for name, mounted in storage.items():
            if problem := link_storage(name, mounted, Path.home()):
                shared.log.warning("%s", problem)

    return Feature(
        routes=[*shared_files(shared.server.root_dir, storage), *storage_routes(storage)],
        prepare=link_all,
    )


PLUGIN = Plugin(load)
