"""The drive as a whole: its routes, if the site has an S3 store, and what cells need of it."""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

from portal.server.s3.contents import S3Contents
from portal.server.s3.handlers import s3_preview_routes, s3_routes
from portal.server.s3.store import Store
from portal.server.s3.upload import S3Uploads
from spawner.session_settings import SessionSettings


class S3Drive:
    """The site's S3 store in one session.

    Args:
        contents: Jupyter's own contents manager, whose rules for hidden files and trust hold here.
        note: Called with each piece of a file that is sent.

    Attributes:
        routes: Without a store, they answer that there is none.
    """

    def __init__(self, settings: SessionSettings, contents: Any, note: Callable[[], None]) -> None:
        self._store = Store(
            endpoint=settings.s3_endpoint,
            region=settings.s3_region,
            buckets=settings.s3_buckets,
            ca_bundle=settings.s3_ca_bundle,
            home=Path.home(),
            profile=os.environ.get("AWS_PROFILE", "") or "default",
        )
        self._uploads = S3Uploads(self._store)
        drive = S3Contents(
            self._store,
            parent=contents.parent,
            log=contents.log,
            allow_hidden=contents.allow_hidden,
            notary=contents.notary,
        )
        previews = s3_preview_routes(self._store) if settings.previews else []
        self.routes = [*s3_routes(self._store, drive, self._uploads, note), *previews]

    def stop(self) -> None:
        """Give up what is on its way."""
        self._uploads.stop()
        self._store.close()


def offer_s3(environ: MutableMapping[str, str], settings: SessionSettings) -> None:
    """Have boto3 and other SDKs in cells ask the site's store, unless `environ` says which.

    Source:
        "Service-specific endpoints" and "AWS_CA_BUNDLE" of the AWS SDKs and Tools Reference Guide.
    """
    if settings.s3_endpoint:
        told = {
            "AWS_ENDPOINT_URL": settings.s3_endpoint,
            "AWS_DEFAULT_REGION": settings.s3_region,
            "AWS_CA_BUNDLE": settings.s3_ca_bundle,
        }
        for name, value in told.items():
            if value:
                environ.setdefault(name, value)
