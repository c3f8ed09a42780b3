"""Take the pictures of docs/images from those that the browser tests have left in tests/output.

Run it from the root of the repository with the tests' own Python, after:

    tests/run browser -- --picture-scale 2
    tests/run server -- -k environments_in_browser
    /opt/data-scientist-portal/environments/test/bin/python docs/make_pictures.py
"""

from pathlib import Path

from PIL import Image

CHECKOUT = Path(__file__).resolve().parents[1]
OUTPUT_DIR = CHECKOUT / "tests/output"
IMAGES_DIR = CHECKOUT / "docs/images"
# Of each picture of the guides, that of a test.
PICTURES = {
    "login": "browser/1-login",
    "options": "browser/3-options",
    "options-dark": "browser/form-dark",
    "options-360": "browser/form-360",
    "progress": "browser/waiting",
    "progress-dark": "browser/waiting-dark",
    "progress-360": "browser/waiting-360",
    "cluster": "browser/cluster",
    "cluster-dark": "browser/cluster-dark",
    "cluster-360": "browser/cluster-360",
    "failure": "browser/failure-with-log",
    "ended": "browser/session-ended",
    "control-panel": "browser/home-running",
    "administrator": "browser/administration",
    "landing": "browser/5-landing",
    "launcher": "browser/tools-launcher",
    "kernel-gpus": "browser/kernel-gpus",
    "session-use": "browser/clock-1-lab",
    "session-warning": "browser/clock-4-warning",
    "session-refused": "browser/clock-6-refused",
    "job-preview": "browser/tools-job-preview",
    "jobs": "browser/tools-jobs",
    "sweep": "browser/sweep",
    "training": "browser/6-digits-curves",
    "horovod": "browser/8-horovod",
    "tensorboard": "browser/7-tensorboard",
    "new-environment": "server/new-environment",
    "missing-kernel": "server/missing-kernel",
}
# What the film shows, and for how many milliseconds.
FILM = {
    "1-login": 3000,
    "2-server-page": 3000,
    "3-options": 6000,
    "4-progress": 4000,
    "5-landing": 5000,
    "6-digits-curves": 5000,
    "7-tensorboard": 5000,
    "8-horovod": 8000,
}
# Flat colours of pages need no more, and the repository keeps every picture of every release.
N_COLOURS = 192
FILM_SIZE = (1280, 860)


def main() -> None:
    """Write all pictures, and the film."""
    for name, source in PICTURES.items():
        with Image.open(OUTPUT_DIR / f"{source}.png") as picture:
            few = picture.convert("RGB").quantize(N_COLOURS)
            few.save(IMAGES_DIR / f"{name}.png", optimize=True)
    first, *others = (
        Image.open(OUTPUT_DIR / f"browser/{name}.png").convert("RGB").resize(FILM_SIZE)
        for name in FILM
    )
    film = {"append_images": others, "duration": [*FILM.values()], "loop": 0, "quality": 60}
    first.save(IMAGES_DIR / "film.webp", save_all=True, method=4, **film)


if __name__ == "__main__":
    main()
