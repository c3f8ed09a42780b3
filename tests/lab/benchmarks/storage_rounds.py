"""Images/s from JPEG files and from shards; run as `storage_rounds.py N_ROUNDS`.

Images and pipelines are those of the template notebook about storage.
"""

import json
import sys
import tempfile
from pathlib import Path

from digits_data import load_digits
from made_photos import make_photos

from dsportal.data import storage_report, write_shards

N_PHOTOS = 1_000
OPEN_MS = 3
SECONDS = 1.5


def main(argv):
    with tempfile.TemporaryDirectory(prefix="photos-") as name:
        photos, shards = Path(name, "jpeg"), Path(name, "shards")
        make_photos(load_digits(), photos, N_PHOTOS)
        write_shards(photos, shards)
        for _ in range(int(argv[0])):
            report = storage_report(photos, shards, open_ms=OPEN_MS, seconds=SECONDS)
            ways = ("jpeg simple", "jpeg tuned", "shards tuned")
            found = {way.replace(" ", "_"): report.images_per_s(way) for way in ways}
            print("FOUND", json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
