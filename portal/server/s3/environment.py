"""What programs of a session are told of the site's S3 store."""

from __future__ import annotations

from collections.abc import MutableMapping

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
