"""A job script and its #SBATCH lines."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from dsportal.slurm.errors import OptionsError
from portal.server.jobs.output_file import open_plain

MAX_SCRIPT_BYTES = 4 * 1024 * 1024
_LINE = re.compile(r"#SBATCH\s+(?P<options>.*)")
_SHORT = {
    "A": "account",
    "a": "array",
    "C": "constraint",
    "c": "cpus-per-task",
    "D": "chdir",
    "d": "dependency",
    "e": "error",
    "G": "gpus",
    "J": "job-name",
    "L": "licenses",
    "N": "nodes",
    "n": "ntasks",
    "o": "output",
    "p": "partition",
    "q": "qos",
    "t": "time",
    "w": "nodelist",
    "x": "exclude",
}


def read_script(script: Path) -> str:
    """Return the text of a file."""
    try:
        with open_plain(script) as file:
            # One byte more shows that it is larger.
            content = file.read(MAX_SCRIPT_BYTES + 1)
    except OSError as error:
        raise OptionsError(
            f"{script.name} cannot be read ({error.strerror}). Choose another file."
        ) from error
    if len(content) > MAX_SCRIPT_BYTES or not content.startswith(b"#!"):
        raise OptionsError(
            f"{script.name} is no job script. One begins with a line such as #!/bin/bash and holds "
            "lines that begin with #SBATCH."
        )
    return content.decode("utf-8", "replace")


def parse_options(script: str) -> list[tuple[str, str]]:
    """Return the sbatch options of a job script.

    Returns:
        Long names and values in the order of the script; a flag has the value "".

    Source:
        sbatch(1), Slurm 22.05: lines with #SBATCH count up to the first that is no comment.
    """
    return [option for words in _option_words(script) for option in _pairs(words)]


def _option_words(script: str) -> Iterator[list[str]]:
    for line in script.splitlines():
        if line.strip() and not line.startswith("#"):
            return
        match = _LINE.match(line)
        if match:
            try:
                yield shlex.split(match["options"], comments=True)
            except ValueError:
                # An unclosed quote: sbatch itself reports it.
                yield match["options"].split()


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            name, has_value, value = word[2:].partition("=")
            if not has_value and rest and not rest[0].startswith("-"):
                value = rest.pop(0)
            yield name, value
        elif word.startswith("-") and len(word) > 1:
            value = word[2:]
            if not value and rest and not rest[0].startswith("-"):
                value = rest.pop(0)
            yield _SHORT.get(word[1], word[1]), value
