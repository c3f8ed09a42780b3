"""What S3 refuses, in words."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from portal.server.s3.errors import S3Error, S3KeysError, S3NotFoundError, S3SilentError

_WRONG_KEYS = frozenset(
    {
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "ExpiredToken",
        "InvalidToken",
        "TokenRefreshRequired",
    }
)
_NOT_FOUND = frozenset({"NoSuchKey", "NoSuchBucket", "NotFound", "NoSuchUpload"})


@contextmanager
def in_words(endpoint: str, bucket: str = "") -> Iterator[None]:
    """Turn the client's errors into sentences."""
    # Here: most sessions never open the drive.
    import urllib3.exceptions
    from minio import error as refused

    try:
        yield
    except refused.S3Error as error:
        raise _explain(error.code or "", error.message or "", bucket) from None
    except (refused.ServerError, refused.InvalidResponseError) as error:
        raise S3SilentError(
            f"{endpoint} answered, but not as S3 does ({str(error)[:200]}). Try again later. If"
            " this continues, tell the administrators."
        ) from None
    except (urllib3.exceptions.HTTPError, OSError) as error:
        cause = _innermost(error)
        if isinstance(cause, urllib3.exceptions.SSLError):
            raise _distrust(endpoint, cause) from None
        raise S3SilentError(
            f"S3, {endpoint}, does not answer ({_plain(cause)}). Try again later. If this"
            " continues, tell the administrators."
        ) from None
    except ValueError as error:
        # The client's own checks of names.
        raise S3NotFoundError(f"S3 has no such name: {error}.") from None


def _explain(code: str, message: str, bucket: str) -> S3Error:
    if code in _WRONG_KEYS:
        return S3KeysError(
            f"S3 does not accept your keys ({code}). Enter them again with the button 'Keys' above"
            " the list, or correct ~/.aws/credentials."
        )
    if code == "NoSuchBucket":
        return S3NotFoundError(
            f"The bucket {bucket} no longer exists. Go up to the list of buckets."
        )
    if code in _NOT_FOUND:
        return S3NotFoundError("This file no longer exists. Reload the list.")
    if code == "AccessDenied":
        what = f"the bucket {bucket}" if bucket else "the list of buckets"
        return S3KeysError(
            f"Your keys do not allow this in {what}. Ask its owner, or enter other keys with the"
            " button 'Keys' above the list."
        )
    return S3Error(f"S3 refused this: {code}: {message.rstrip('.')[:300]}.")


def _distrust(endpoint: str, error: BaseException) -> S3Error:
    """Explain why a TLS connection was not made; `error` wraps that of the `ssl` module."""
    why = next((arg for arg in error.args if isinstance(arg, BaseException)), error)
    reason = getattr(why, "verify_message", "") or getattr(why, "strerror", None) or _plain(why)
    return S3SilentError(
        f"S3, {endpoint}, could not prove who it is ({reason.rstrip('.')}), and your keys were not"
        " sent. Tell the administrators: ca_bundle in [s3] of the portal's settings names the file"
        " of the authorities that this node trusts for S3."
    )


def _innermost(error: BaseException) -> BaseException:
    # The innermost says what happened: "Connection refused", "Name or service not known".
    while (inner := getattr(error, "reason", None)) is not None and isinstance(
        inner, BaseException
    ):
        error = inner
    return error


def _plain(error: BaseException) -> str:
    return re.sub(r"^.*?: ", "", str(error))[:200] or type(error).__name__
