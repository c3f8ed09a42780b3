"""The same program in two places, which take turns: what else runs on the node slows both.

As a program it trains the digits' network for some seconds whenever it reads a line, and says how
many images it took.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from digits_data import DIGITS_PATH, DataError

OWN_IMAGES = Path.home() / ".local/share/data-scientist-portal/images"
_SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/apptainer/bin"
_BATCH_SIZE = 64


def find_container() -> str:
    """Return the path of Apptainer or Singularity.

    Raises:
        DataError: If the node has neither.
    """
    path = f"{os.environ.get('PATH', '')}:{_SEARCH_PATH}"
    found = filter(None, (shutil.which(name, path=path) for name in ("apptainer", "singularity")))
    program = next(found, None)
    if program is None:
        raise DataError(
            "This node has neither apptainer nor singularity. Load their module in a terminal and "
            "put what 'which apptainer' says into CONTAINER."
        )
    return program


def find_image() -> Path:
    """Return the first image that `dsportal environments add --image` made for you.

    Raises:
        DataError: If there is none.
    """
    found = next(iter(sorted(OWN_IMAGES.glob("*.sif"))), None)
    if found is None:
        raise DataError(
            f"{OWN_IMAGES} holds no image. Make one in a terminal with 'dsportal environments add "
            "mine --image docker://...' (Python of this kernel's version), or set IMAGE to one."
        )
    return found


def in_image(container: str, image: Path) -> list[str]:
    """Return the words that start this kernel's Python in an image.

    The environment of the kernel and the folder of the templates are bound into it: the framework
    is the same; interpreter, C library and all else are the image's.

    Args:
        container: Path of Apptainer.
        image: The image.

    Returns:
        The beginning of a command line.
    """
    # A kernel's own prefix is that of the user's packages; the environment lies below it.
    environment = os.environ.get("PORTAL_ENVIRONMENT", sys.prefix)
    folders = (environment, Path(__file__).resolve().parent, DIGITS_PATH.resolve().parent)
    # A home may be another one in the image.
    binds = [word for folder in folders for word in ("--bind", str(folder))]
    gpus = [] if os.environ.get("PORTAL_GPUS_SIMULATED") == "1" else ["--nv"]
    return [container, "exec", *gpus, *binds, str(image), f"{environment}/bin/python"]


def take_turns(
    places: Mapping[str, Sequence[str]], rounds: int, seconds: float
) -> dict[str, list[float]]:
    """Let the program of this module train in each place, in turns.

    Args:
        places: For each name the words that start Python there.
        rounds: How often each has its turn.
        seconds: How long a turn takes.

    Returns:
        Images/s of each turn, by name.

    Raises:
        DataError: If the program ends in a place.
    """
    programs = {name: _start(words) for name, words in places.items()}
    rates: dict[str, list[float]] = {name: [] for name in places}
    try:
        for name, program in programs.items():
            _turn(name, program, seconds)
        for _ in range(rounds):
            for name, program in programs.items():
                rates[name].append(_turn(name, program, seconds))
    finally:
        for program in programs.values():
            program.kill()
            program.wait()
    return rates


def _start(words: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*words, str(Path(__file__).resolve()), str(DIGITS_PATH.resolve())],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _turn(name: str, program: subprocess.Popen[str], seconds: float) -> float:
    said = []
    if program.stdin is None or program.stdout is None:
        return 0.0
    try:
        program.stdin.write(f"{seconds}\n")
        program.stdin.flush()
    except BrokenPipeError:
        said.append("it ended")
    for line in program.stdout:
        if line.startswith("RATE "):
            return float(json.loads(line.removeprefix("RATE ")))
        said.append(line.rstrip())
    raise DataError(f"The training does not run {name}: {' '.join(said[-5:])}")


def main() -> None:
    """Train for as many seconds as each line of standard input says, on the file of the digits."""
    from digits_data import load_digits
    from digits_model import make_model

    digits = load_digits(sys.argv[1]).first(_BATCH_SIZE * 16)
    model = make_model()
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
    for line in sys.stdin:
        began_s, n_images = time.monotonic(), 0
        while time.monotonic() - began_s < float(line):
            for first in range(0, len(digits.train_images), _BATCH_SIZE):
                part = slice(first, first + _BATCH_SIZE)
                model.train_on_batch(digits.train_images[part], digits.train_labels[part])
                n_images += _BATCH_SIZE
        rate = n_images / (time.monotonic() - began_s)
        print(f"RATE {json.dumps(rate)}", flush=True)


if __name__ == "__main__":
    main()
