"""The client of the site's S3 store: what the drive asks, and its refusals in words.

Only the endpoint of the site's settings is asked: neither a request nor a file of the user's names
another.
"""

import asyncio
import re
import ssl
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from portal.server.s3.errors import S3KeysError, S3NotFoundError
from portal.server.s3.keys import Keys, read_keys
from portal.server.s3.refusals import in_words
from portal.settings.s3 import S3Settings

T = TypeVar("T")
# Neither an ARN nor one of AWS's suffixes, which lead to other hosts.
BUCKET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]", re.ASCII)
CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 30.0
MOST_ENTRIES = 10_000
# A store that hangs must not take the rest of the server's threads.
_THREADS = 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A bucket, a folder or a file.

    Attributes:
        name: Last part of its path.
        size_bytes: None for buckets and folders.
        modified: When it was last written; of a bucket, when it was made.
        etag: S3's mark of the content, another one for each content; empty for buckets and folders.
    """

    name: str
    size_bytes: int | None = None
    modified: datetime = _EPOCH
    etag: str = ""


class Store:
    """The site's S3 store, with this user's keys.

    Args:
        home: Has the user's credentials file.
        profile: Name of the keys in that file.

    Attributes:
        entered: Keys that the user has entered; they are nowhere but here.
    """

    def __init__(self, settings: S3Settings, *, home: Path, profile: str) -> None:
        self.endpoint = settings.endpoint
        self.entered: Keys | None = None
        self._settings = settings
        self._buckets = settings.buckets
        self._home = home
        self._profile = profile
        self._made: tuple[Keys, Any] | None = None
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="s3")

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, which waits for S3 in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        """Accept no more work; what hangs is left alone."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def keys(self) -> Keys | None:
        """Return the keys in use; None if there are none.

        Raises:
            S3KeysError: If the credentials file may not be used.
        """
        return self.entered or read_keys(self._home, self._profile)

    def try_keys(self, keys: Keys) -> None:
        """Ask S3 something with these keys, which are not kept."""
        client = self._make_client(keys)
        with in_words(self.endpoint):
            if self._buckets:
                client.bucket_exists(self._buckets[0])
            else:
                client.list_buckets()

    def buckets(self) -> list[Entry]:
        """Return the buckets of the site's settings, or all that the keys list."""
        if self._buckets:
            self._client()
            return [Entry(name=name) for name in self._buckets]
        with in_words(self.endpoint):
            found = self._client().list_buckets()
            return [Entry(name=one.name, modified=one.creation_date or _EPOCH) for one in found]

    def list_folder(self, bucket: str, prefix: str) -> tuple[list[Entry], bool]:
        """Return what is in a folder, 10,000 entries at most, and whether there is more.

        `prefix` ends with "/", or is empty for the bucket itself.
        """
        entries: list[Entry] = []
        is_there = not prefix
        with in_words(self.endpoint, bucket):
            for found in self._client().list_objects(self._shown(bucket), prefix=prefix):
                is_there = True
                name = found.object_name[len(prefix) :]
                # The folder's own mark.
                if not name:
                    continue
                if len(entries) == MOST_ENTRIES:
                    return entries, True
                entries.append(
                    Entry(name=name.removesuffix("/"))
                    if found.is_dir or name.endswith("/")
                    else _file(name, found)
                )
        if not is_there:
            raise S3NotFoundError(f"{bucket}/{prefix} no longer exists. Reload the list.")
        return entries, False

    def is_folder(self, bucket: str, prefix: str) -> bool:
        """Return whether there is a folder; `prefix` is as in `list_folder`."""
        with in_words(self.endpoint, bucket):
            if not prefix:
                return bool(self._client().bucket_exists(self._shown(bucket)))
            return next(self._few(bucket, prefix), None) is not None

    def is_empty(self, bucket: str, prefix: str) -> bool:
        """Return whether a folder holds nothing but its mark."""
        with in_words(self.endpoint, bucket):
            names = (found.object_name for found in self._few(bucket, prefix))
            return all(name == prefix for name in names)

    def look(self, bucket: str, key: str) -> Entry | None:
        """Return a file; None if there is none."""
        try:
            with in_words(self.endpoint, bucket):
                found = self._client().stat_object(self._shown(bucket), key)
        except S3NotFoundError:
            return None
        return _file(key.rpartition("/")[2], found)

    def read(self, bucket: str, key: str) -> bytes:
        """Return a whole file."""
        return b"".join(self.pieces(bucket, key, 1024 * 1024))

    def pieces(self, bucket: str, key: str, piece_bytes: int) -> Generator[bytes, None, None]:
        """Yield a file in pieces."""
        with in_words(self.endpoint, bucket):
            answer = self._client().get_object(self._shown(bucket), key)
            try:
                yield from answer.stream(piece_bytes)
            finally:
                answer.close()
                answer.release_conn()

    def write(self, bucket: str, key: str, data: Any, size_bytes: int, part_bytes: int = 0) -> None:
        """Write a whole file.

        Args:
            data: Has `read`, as a file does.
            part_bytes: Size of the parts in which it is sent; 0 for the client's choice.
        """
        with in_words(self.endpoint, bucket):
            self._client().put_object(
                self._shown(bucket),
                key,
                data,
                size_bytes,
                part_size=part_bytes,
                # One after the other: each part is held in memory.
                num_parallel_uploads=1,
            )

    def copy(self, bucket: str, key: str, new_bucket: str, new_key: str) -> None:
        """Copy a file inside S3; S3 copies 5 GiB at most."""
        from minio.commonconfig import CopySource

        with in_words(self.endpoint, new_bucket):
            source = CopySource(self._shown(bucket), key)
            self._client().copy_object(self._shown(new_bucket), new_key, source)

    def remove(self, bucket: str, key: str) -> None:
        """Remove a file."""
        with in_words(self.endpoint, bucket):
            self._client().remove_object(self._shown(bucket), key)

    def _few(self, bucket: str, prefix: str) -> Iterator[Any]:
        found = self._client().list_objects(self._shown(bucket), prefix=prefix, recursive=True)
        return (one for one, _ in zip(found, range(2), strict=False))

    def _shown(self, bucket: str) -> str:
        is_name = BUCKET_NAME.fullmatch(bucket) and not re.search(r"--\w+-s3$|\.\.", bucket)
        if not is_name or (self._buckets and bucket not in self._buckets):
            raise S3NotFoundError(f"{bucket} is not one of the buckets that this site shows.")
        return bucket

    def _client(self) -> Any:
        keys = self.keys()
        if keys is None:
            raise S3KeysError(
                "There are no keys for S3. Enter them with the button 'Keys' above the list, or"
                " write them into ~/.aws/credentials."
            )
        if self._made is None or self._made[0] != keys:
            self._made = (keys, self._make_client(keys))
        return self._made[1]

    def _make_client(self, keys: Keys) -> Any:
        # Here: most sessions never open the drive.
        import urllib3
        from minio import Minio

        address = urlsplit(self.endpoint)
        ca_bundle = self._settings.ca_bundle
        trust: dict[str, Any] = {"ca_certs": ca_bundle} if ca_bundle else {}
        pool = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=CONNECT_TIMEOUT_S, read=ANSWER_TIMEOUT_S),
            maxsize=_THREADS,
            cert_reqs=ssl.CERT_REQUIRED,
            # Followed nowhere: a redirection may lead to another host.
            retries=urllib3.Retry(
                total=2,
                redirect=0,
                raise_on_redirect=False,
                backoff_factor=0.2,
                status_forcelist=(500, 502, 503, 504),
                raise_on_status=False,
            ),
            **trust,
        )
        return Minio(
            address.netloc,
            access_key=keys.access_key_id,
            secret_key=keys.secret_access_key,
            session_token=keys.session_token or None,
            secure=address.scheme == "https",
            # Given, so that it is not asked for with each bucket.
            region=self._settings.region,
            http_client=pool,
        )


def _file(name: str, found: Any) -> Entry:
    return Entry(
        name=name,
        size_bytes=found.size or 0,
        modified=found.last_modified or _EPOCH,
        etag=found.etag or "",
    )
