"""The user's own keys for S3: from ~/.aws/credentials, or entered and kept in memory."""

import configparser
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from portal.server.s3.errors import S3KeysError

CREDENTIALS = ".aws/credentials"
_MOST_BYTES = 65536
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """One pair of keys; only its first half may be shown.

    Attributes:
        session_token: Of temporary keys; else empty.
    """

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        """Let nothing into a header that would end it."""
        if not self.access_key_id or not self.secret_access_key:
            raise S3KeysError("Two keys are needed: access key ID and secret access key.")
        for text in (self.access_key_id, self.secret_access_key, self.session_token):
            # ASCII's only printable character that is not visible is the space.
            if not text.isascii() or not text.isprintable() or " " in text:
                raise S3KeysError(
                    "A key of S3 holds a space, a line break or a letter beyond ASCII, which none"
                    " has. Copy each key by itself."
                )


def read_keys(home: Path, profile: str) -> Keys | None:
    """Return the keys of a profile in the user's credentials file; None without such a file.

    Source:
        "Configuration and credential file settings" of the AWS CLI 2.
    """
    path = home / CREDENTIALS
    try:
        text = _read_private(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise S3KeysError(f"~/{CREDENTIALS} cannot be read: {error.strerror}.") from error
    # A secret may hold "%", which would be taken for a reference.
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
        section = parser[profile]
        return Keys(
            access_key_id=section["aws_access_key_id"],
            secret_access_key=section["aws_secret_access_key"],
            session_token=section.get("aws_session_token", ""),
        )
    # Its own text would repeat the line, and with it the key.
    except (configparser.Error, KeyError):
        raise S3KeysError(
            f"~/{CREDENTIALS} has no keys under [{profile}]: it needs the lines aws_access_key_id ="
            " ... and aws_secret_access_key = ... Write them, or enter keys in the file browser."
        ) from None


def _read_private(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, encoding="utf-8", errors="replace") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise S3KeysError(f"~/{CREDENTIALS} is not a file of yours, and was not read.")
        if found.st_mode & _OTHERS:
            raise S3KeysError(
                f"~/{CREDENTIALS} was not read, since others may read it, too (mode"
                f" {stat.S_IMODE(found.st_mode):o}). Run in a terminal: chmod 600 ~/{CREDENTIALS}"
            )
        return file.read(_MOST_BYTES)
