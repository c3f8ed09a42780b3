"""Lists a folder of JPEG files, with one subfolder for each class."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dsportal.errors import DataError

SUFFIXES = (".jpg", ".jpeg")
# The marker that begins an image, and the first byte of the next one.
JPEG_START = b"\xff\xd8\xff"


@dataclass(frozen=True, slots=True)
class RawImage:
    """One JPEG file.

    Args:
        name: Path relative to the folder.
        label: Index of its class, from 0; -1 if there are no classes.
    """

    name: str
    label: int
    n_bytes: int


@dataclass(frozen=True)
class ImageFolder:
    """The JPEG files of a folder.

    Args:
        path: Absolute path of the folder.
        classes: Names of the classes, sorted; empty if the files lie in the folder itself.
        images: The files, sorted by name.
    """

    path: Path
    classes: tuple[str, ...]
    images: tuple[RawImage, ...]

    @property
    def n_bytes(self) -> int:
        """Total size of the files."""
        return sum(image.n_bytes for image in self.images)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names, sizes and classes: changes when a file is added, removed or resized."""
        lines = (f"{image.name}\t{image.label}\t{image.n_bytes}\n" for image in self.images)
        # Names need not be UTF-8: the bytes are hashed as they are.
        return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()

    def paths(self) -> list[str]:
        """Return the full paths of all files."""
        return [f"{self.path}/{image.name}" for image in self.images]

    def labels(self) -> list[int]:
        """Return the class index of each file, in the order of `paths`."""
        return [image.label for image in self.images]


def find_images(path: str | os.PathLike[str]) -> ImageFolder:
    """List the JPEG files of a folder.

    Args:
        path: Folder with one subfolder for each class, or with the files themselves.

    Returns:
        The files. None of them has been opened.

    Raises:
        DataError: If there is no JPEG file.
    """
    folder = Path(path).expanduser().absolute()
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        classes = tuple(entry.name for entry in entries if _is_class(entry))
        found = [
            image
            for label, name in enumerate(classes)
            for image in _list_files(folder, f"{name}/", label)
        ]
        # Subfolders without a JPEG file are no classes; the folder itself may hold the files.
        found = found or list(_list_files(folder, "", -1))
    except OSError as error:
        raise DataError(f"{error.filename or folder} cannot be read: {error.strerror}.") from error
    if not found:
        raise DataError(
            f"{folder} has no files that end with {' or '.join(SUFFIXES)}, neither in folders of "
            "classes nor by themselves. Give the folder that holds the folders of the classes."
        )
    # Either all files have a class or none has.
    labelled = found[0].label >= 0
    return ImageFolder(folder, classes if labelled else (), tuple(found))


def _is_class(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir() and not entry.name.startswith(".")


def _list_files(folder: Path, prefix: str, label: int) -> Iterator[RawImage]:
    for entry in sorted(os.scandir(folder / prefix), key=lambda entry: entry.name):
        if entry.name.lower().endswith(SUFFIXES) and entry.is_file():
            yield RawImage(f"{prefix}{entry.name}", label, entry.stat().st_size)
