"""The table [s3] of portal.toml: the site's S3 store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from portal.hub.settings.schema import setting
from portal.hub.settings.validators import check_folder

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]", re.ASCII)
_REGION = re.compile(r"[A-Za-z0-9-]{1,32}", re.ASCII)


def check_endpoint(url: str) -> None:
    """Refuse anything but an http or https URL without a path; empty is accepted.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    parts = urlsplit(url)
    is_plain = parts.path in {"", "/"} and not (parts.query or parts.fragment or parts.username)
    if url and (parts.scheme not in {"http", "https"} or not parts.hostname or not is_plain):
        raise ValueError("it must look like https://s3.example.org, without a path.")


def check_region(region: str) -> None:
    """Refuse what cannot be a region.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if not _REGION.fullmatch(region):
        raise ValueError("it must be letters, digits and '-', as in us-east-1.")


def check_buckets(names: tuple[str, ...]) -> None:
    """Refuse what cannot be names of buckets.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    for name in names:
        if not _BUCKET.fullmatch(name) or ".." in name:
            raise ValueError(f"{name!r} is not a name of a bucket.")


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Settings:
    """An S3 store, whose buckets are a drive in JupyterLab. Users give their own keys."""

    endpoint: str = setting(
        "Address of the store, which the compute nodes have to reach; https keeps what is sent from"
        " being read on the way. Sessions ask no other one. Empty: no drive.",
        default="",
        example="https://s3.example.org",
        check=check_endpoint,
    )
    region: str = setting(
        "Region of the store. Those that are not Amazon's mostly take any.",
        default="us-east-1",
        check=check_region,
    )
    buckets: tuple[str, ...] = setting(
        "Buckets that are shown; the user's keys still decide who may open them. Empty: all that"
        " the keys list.",
        default=(),
        example=("datasets", "models"),
        check=check_buckets,
    )
    ca_bundle: str = setting(
        "File on the compute nodes with the certificate authorities of the store, in PEM. Empty:"
        " the usual ones.",
        default="",
        example="/etc/ssl/certs/ca-certificates.crt",
        check=check_folder,
    )
