"""Image data for training: from JPEG files to shards, and how fast storage gives them.

    from dsportal.data import read_shards, storage_report, write_shards

    write_shards("isilon/photos", "isilon/photos-shards")
    storage_report("isilon/photos", "isilon/photos-shards")
    model.fit(read_shards("isilon/photos-shards", batch_size=256))

Needs TensorFlow, and nothing else: it is installed into the environments of the frameworks.
"""

from dsportal.data.images import find_images
from dsportal.data.pipelines import read_jpegs, read_shards
from dsportal.data.report import StorageReport, storage_report
from dsportal.data.shards import open_shards, verify_shards, write_shards
from dsportal.errors import DataError

__all__ = [
    "DataError",
    "StorageReport",
    "find_images",
    "open_shards",
    "read_jpegs",
    "read_shards",
    "storage_report",
    "verify_shards",
    "write_shards",
]
