"""The file browser: large uploads, folders as archives, tables, and what it does to files."""

from __future__ import annotations

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.files.checkpoints import keep_checkpoints_apart
from portal.server.files.deletion import delete_whole_folders
from portal.server.files.handlers import transfer_routes
from portal.server.files.unreadable_names import mark_unreadable_names


def load(shared: Shared) -> Feature:
    """Offer those of the three that the site has."""
    settings, contents = shared.settings, shared.server.contents_manager
    keep_checkpoints_apart(contents)
    delete_whole_folders(contents)
    mark_unreadable_names(contents)
    return Feature(
        routes=transfer_routes(settings, shared.transfers),
        page_data={
            "portalUploads": settings.files.resumable_uploads,
            "portalArchives": settings.files.offers_archives,
            "portalPreviews": settings.files.previews,
        },
    )


PLUGIN = Plugin(load)
