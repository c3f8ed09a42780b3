"""A virtual environment with a few packages of another one, made without an index."""

import re
import subprocess
from importlib.metadata import Distribution, distributions
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def link_environment(folder: Path, source: Path, *names: str) -> Path:
    """Make an environment with links to packages of another and to all that they need."""
    base = (source / "bin/python").resolve()
    subprocess.run([base, "-m", "venv", "--without-pip", folder], check=True)
    (there,) = source.glob("lib/python3*/site-packages")
    (here,) = folder.glob("lib/python3*/site-packages")
    installed = {_normal(one.metadata["Name"]): one for one in distributions(path=[str(there)])}
    waiting, seen = [*map(_normal, names)], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in installed:
            continue
        seen.add(name)
        waiting += _requirements(installed[name])
        for file in installed[name].files or ():
            link = here / file.parts[0]
            if file.parts[0] not in {"..", "__pycache__"} and not link.exists():
                link.symlink_to(there / file.parts[0])
    return folder / "bin/python"


def _requirements(distribution: Distribution) -> list[str]:
    # Those for other systems and Pythons are not installed.
    lines = (line for line in distribution.requires or () if "extra ==" not in line)
    return [_normal(found[0]) for line in lines if (found := _NAME.match(line))]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
