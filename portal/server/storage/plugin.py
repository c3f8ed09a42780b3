"""The site's shared storage: how full it is, and its files behind links in the home, and models."""

import os
from pathlib import Path

from dsportal.slurm.errors import PortalError
from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.shared_storage import read_storage, user_name
from portal.server.storage.files import shared_files
from portal.server.storage.handlers import storage_routes
from portal.server.storage.links import link_storage
from portal.server.storage.models import choose_cache, link_models


def load(shared: Shared) -> Feature:
    """Offer its REST API, and its files under Jupyter's own address of files."""
    storage = read_storage(os.environ)

    def offer_models() -> None:
        cache, models = shared.settings.storage.cache, shared.settings.storage.models
        try:
            if cache:
                choose_cache(Path(cache.replace("{user}", user_name())), os.environ)
            if models:
                link_models(Path(models), Path.home(), os.environ)
        except (PortalError, OSError) as error:
            shared.log.warning("%s", error)

    def link_all() -> None:
        for name, mounted in storage.items():
            if problem := link_storage(name, mounted, Path.home()):
                shared.log.warning("%s", problem)
        offer_models()

    return Feature(
        routes=[*shared_files(shared.server.root_dir, storage), *storage_routes(storage)],
        prepare=link_all,
    )


PLUGIN = Plugin(load)
