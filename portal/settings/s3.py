"""The table [s3] of portal.toml: the site's S3 store."""

from dataclasses import dataclass

from portal.settings.validators import check_folder, each_like, like, url
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class S3Settings:
    """An S3 store, whose buckets are a drive in JupyterLab. Users give their own keys."""

    endpoint: str = setting(
        "Address of the store, which the compute nodes have to reach. https keeps what is sent from"
        " being read on the way. Sessions ask no other one. Empty: no drive.",
        default="",
        example="https://s3.example.org",
        check=url(
            "https", "http", sentence="it must look like https://s3.example.org, without a path."
        ),
    )
    region: str = setting(
        "Region of the store. Stores other than Amazon's usually accept any.",
        default="us-east-1",
        check=like(r"[A-Za-z0-9-]{1,32}", "it must be letters, digits and '-', as in us-east-1."),
    )
    buckets: tuple[str, ...] = setting(
        "Buckets that are shown. The user's keys still decide who may open them. Empty: all that"
        " the keys list.",
        default=(),
        example=("datasets", "models"),
        check=each_like(
            r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]", "is not a name of a bucket."
        ),
    )
    ca_bundle: str = setting(
        "File on the compute nodes with the certificate authorities of the store, in PEM. Empty:"
        " the usual ones.",
        default="",
        example="/etc/ssl/certs/ca-certificates.crt",
        check=check_folder,
    )
