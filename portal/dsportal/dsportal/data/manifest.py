"""`shards.json`, the manifest of a folder of shards: rewritten whenever a shard is complete."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dsportal.errors import DataError
from dsportal.whole_file import write_whole

NAME = "shards.json"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Shard:
    """One complete file of records.

    Args:
        refused: Names of source files that were left out because they are not JPEG.
    """

    name: str
    n_images: int
    n_bytes: int
    sha256: str
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShardFolder:
    """A folder of shards; incomplete while `shards` has fewer than `n_shards`.

    Args:
        path: Absolute path of the folder.
        digest: `ImageFolder.digest` of the images that it was made from.
        classes: Names of the classes; a label is an index into it.
        shards: Complete shards, sorted by name.
    """

    path: Path
    digest: str
    n_shards: int
    classes: tuple[str, ...] = ()
    shards: tuple[Shard, ...] = ()

    def __repr__(self) -> str:
        words = (
            f"{self.n_images:,} images in {len(self.shards)} of {self.n_shards} shards, "
            f"{self.n_bytes / 1e6:,.1f} MB, in {self.path}"
        )
        if not self.refused:
            return words
        return f"{words}; {len(self.refused)} files are no JPEG and left out: {self.refused[0]} ..."

    @property
    def n_images(self) -> int:
        """Images in all shards."""
        return sum(shard.n_images for shard in self.shards)

    @property
    def n_bytes(self) -> int:
        """Total size of all shards."""
        return sum(shard.n_bytes for shard in self.shards)

    @property
    def refused(self) -> list[str]:
        """Names of source files that were left out because they are not JPEG."""
        return [name for shard in self.shards for name in shard.refused]

    def paths(self) -> list[str]:
        """Return the full paths of all shards."""
        return [f"{self.path}/{shard.name}" for shard in self.shards]


def read_manifest(folder: Path) -> ShardFolder | None:
    """Read the manifest of a folder; None if it holds no shards yet."""
    path = folder / NAME
    try:
        content = json.loads(path.read_text("utf-8"))
        if content["version"] != _VERSION:
            raise DataError(f"{path} is of version {content['version']}; read here is {_VERSION}.")
        return _from_json(folder, content)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} does not describe shards ({error}). Write the shards into another folder."
        ) from error


def write_manifest(folder: ShardFolder) -> None:
    """Write the manifest atomically: a reader sees the old one or the new one."""
    content = {"version": _VERSION, **asdict(folder)}
    # So that the folder can be moved.
    del content["path"]
    write_whole(folder.path / NAME, f"{json.dumps(content, indent=1)}\n".encode())


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        # In pieces: a shard has 128 MiB by default.
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _from_json(folder: Path, content: Mapping[str, Any]) -> ShardFolder:
    return ShardFolder(
        path=folder,
        digest=content["digest"],
        n_shards=content["n_shards"],
        classes=tuple(content["classes"]),
        shards=tuple(
            Shard(**{**shard, "refused": tuple(shard["refused"])}) for shard in content["shards"]
        ),
    )
