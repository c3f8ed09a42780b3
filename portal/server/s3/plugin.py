"""The site's S3 store as a drive of the file browser."""

import os
from collections.abc import MutableMapping
from pathlib import Path

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.s3.contents import S3Contents
from portal.server.s3.handlers import s3_preview_routes, s3_routes
from portal.server.s3.store import Store
from portal.server.s3.upload import Place, S3Upload
from portal.settings.session_tables import SessionTables


def offer_s3(environ: MutableMapping[str, str], settings: SessionTables) -> None:
    """Have boto3 and other SDKs in cells ask the site's store, unless `environ` says which.

    Source:
        "Service-specific endpoints" and "AWS_CA_BUNDLE" of the AWS SDKs and Tools Reference Guide.
    """
    told = {
        "AWS_ENDPOINT_URL": settings.s3.endpoint,
        "AWS_DEFAULT_REGION": settings.s3.region,
        "AWS_CA_BUNDLE": settings.s3.ca_bundle,
    }
    for name, value in told.items():
        if value:
            environ.setdefault(name, value)


def load(shared: Shared) -> Feature:
    """Offer the drive, and tell SDKs in cells where the store is."""
    settings = shared.settings
    offer_s3(os.environ, settings)
    store = Store(
        settings.s3,
        home=Path.home(),
        profile=os.environ.get("AWS_PROFILE", "") or "default",
    )
    uploads: dict[Place, S3Upload] = {}
    # Jupyter's own rules for hidden files and trust hold here.
    own = shared.server.contents_manager
    drive = S3Contents(
        store, parent=own.parent, log=own.log, allow_hidden=own.allow_hidden, notary=own.notary
    )
    previews = s3_preview_routes(store) if settings.files.previews else []

    async def stop() -> None:
        for upload in uploads.values():
            upload.cancel()
        store.close()

    return Feature(
        routes=[*s3_routes(store, drive, uploads, shared.transfers.note), *previews],
        page_data={"portalS3": settings.s3.endpoint},
        stop=stop,
    )


PLUGIN = Plugin(load, is_on=lambda settings: bool(settings.s3.endpoint))
