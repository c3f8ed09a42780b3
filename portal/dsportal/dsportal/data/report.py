"""Storage throughput for a training: images/s for each way to read, and what limits it.

    from dsportal.data import storage_report

    storage_report("isilon/photos", "isilon/photos-shards", gpu_images_per_s=2940)

Source:
    The arithmetic of Dell EMC's guide, 3.1.5: images/s x mean size of an image = throughput.
"""

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dsportal.data.images import find_images
from dsportal.data.measure import Order, Rate, measure_all
from dsportal.data.pipelines import N_READERS, n_cores
from dsportal.data.shards import open_shards

WAYS = {
    "jpeg simple": "JPEG files, one after the other",
    "jpeg tuned": f"JPEG files, tuned: {N_READERS} readers",
    "shards simple": "TFRecord shards, one after the other",
    "shards tuned": "TFRecord shards, tuned",
    "decode tuned": "JPEG from memory",
    "cache": "decoded once, kept in memory",
}
_COLUMNS = ("how the images are read", "images/s", "MB/s", "cores busy", "limit")


@dataclass(frozen=True)
class StorageReport:
    """How fast images come from one place; a notebook shows it as a table.

    Args:
        image_bytes: Mean size of a JPEG file.
        open_ms: Delay that was added to each opening of a file, milliseconds.
        gpu_images_per_s: Rate at which the model trains; 0 if not known.
        rates: By name, as from `dsportal.data.measure.measure_all`.
    """

    place: Path
    n_images: int
    image_bytes: float
    n_cores: int
    open_ms: float
    gpu_images_per_s: float
    rates: dict[str, Rate]

    def images_per_s(self, way: str) -> float:
        """Return the measured rate of `way`, a key of WAYS; not every report has "cache"."""
        return self.rates[way].images_per_s

    def mb_per_s(self, images_per_s: float) -> float:
        """Return the throughput of storage, in megabytes a second, that a rate needs."""
        return images_per_s * self.image_bytes / 1e6

    def limit(self, way: str) -> str:
        """Return what limits one way to read.

        Args:
            way: A key of WAYS that was measured.

        Returns:
            "storage", "decoding", or "memory" if nothing is read or decoded.
        """
        # Nothing is read for these two, so there is no rate of storage to compare.
        if way in {"cache", "decode tuned"}:
            return "memory" if way == "cache" else "decoding"
        how = way.rpartition(" ")[2]
        reading, decoding = self.rates[f"read {way}"], self.rates[f"decode {how}"]
        return "storage" if reading.images_per_s < decoding.images_per_s else "decoding"

    def advice(self) -> str:
        """Explain the figures."""
        files, shards = self.images_per_s("jpeg simple"), self.images_per_s("shards tuned")
        readers = self.images_per_s("jpeg tuned")
        words = (
            f"Tuned shards give {shards / files:.1f} times the images of JPEG files that are read "
            f"one after the other, and {shards / readers:.1f} times those of {N_READERS} readers."
        )
        busy = self.rates["decode tuned"].cores
        if busy < self.n_cores / 2:
            words += (
                f" Decoding kept only {busy:.1f} of {self.n_cores} cores busy: other programs may "
                "have had the rest, so measure again later."
            )
        if not self.gpu_images_per_s:
            return words
        needed = self.mb_per_s(self.gpu_images_per_s)
        is_enough = shards >= self.gpu_images_per_s
        return (
            f"{words} The model takes {self.gpu_images_per_s:,.0f} images/s x "
            f"{self.image_bytes / 1e6:.3f} MB = {needed:,.0f} MB/s ({needed * 8:,.0f} Mb/s); tuned "
            f"shards give {self.mb_per_s(shards):,.0f} MB/s: "
            + f"{'the GPU' if is_enough else self.limit('shards tuned')} is the limit."
        )

    def __repr__(self) -> str:
        rows = [_COLUMNS, *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if place in {0, 4} else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([self._title(), "", *lines, "", self.advice()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._rows()
        )
        title, advice = html.escape(self._title()), html.escape(self.advice())
        return f"<p>{title}</p><table><tr>{head}</tr>{body}</table><p>{advice}</p>"

    def _title(self) -> str:
        slower = f"; each opening of a file made {self.open_ms:g} ms slower" if self.open_ms else ""
        return (
            f"{self.place}: {self.n_images:,} images of {self.image_bytes / 1e3:,.0f} KB on average"
            f"; {self.n_cores} cores{slower}"
        )

    def _rows(self) -> list[Sequence[str]]:
        return [
            (
                words,
                f"{self.rates[way].images_per_s:,.0f}",
                f"{self.mb_per_s(self.rates[way].images_per_s):,.0f}",
                f"{self.rates[way].cores:.1f}",
                self.limit(way),
            )
            for way, words in WAYS.items()
            if way in self.rates
        ]


def storage_report(
    jpegs: str | os.PathLike[str],
    shards: str | os.PathLike[str],
    *,
    open_ms: float = 0,
    gpu_images_per_s: float = 0,
    seconds: float = 2,
) -> StorageReport:
    """Measure how fast the same images come from JPEG files and from shards.

    Args:
        jpegs: Folder of JPEG files.
        shards: Folder of shards made from them with `write_shards`.
        open_ms: Delay each opening of a file by this many milliseconds, to simulate a network file
            system.
        gpu_images_per_s: Rate at which the model trains, to say whether storage, decoding or the
            GPU is the limit; 0 if not known.
        seconds: Length of each of eleven measurements.

    Raises:
        DataError: If a folder holds no images or no shards.
    """
    images, shard_folder = find_images(jpegs), open_shards(shards)
    order = Order(str(images.path), str(shard_folder.path), seconds, open_ms)
    return StorageReport(
        place=images.path,
        n_images=len(images.images),
        image_bytes=images.n_bytes / len(images.images),
        n_cores=n_cores(),
        open_ms=open_ms,
        gpu_images_per_s=gpu_images_per_s,
        rates=measure_all(order),
    )
