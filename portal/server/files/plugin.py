"""The file browser: large uploads, folders as archives, tables, and what it does to files."""

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.files.checkpoints import keep_checkpoints_apart
from portal.server.files.handlers import transfer_routes


def load(shared: Shared) -> Feature:
    """Offer those of the three that the site has."""
    settings = shared.settings
    keep_checkpoints_apart(shared.server.contents_manager)
    return Feature(
        routes=transfer_routes(settings, shared.transfers),
        page_data={
            "portalUploads": settings.files.resumable_uploads,
            "portalArchives": settings.files.offers_archives,
            "portalPreviews": settings.files.previews,
        },
    )


PLUGIN = Plugin(load)
