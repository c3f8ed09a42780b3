"""What a shipped kernel's environment holds, in the form that uv needs to build on it."""

import json
import re
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

from packaging.version import InvalidVersion, Version

from dsportal.packages.overlay import Shipped, distributions_in
from portal.environments.errors import RegistryError

_DESCRIBE = """\
import json, sys, sysconfig
folders = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
version = "%d.%d" % sys.version_info[:2]
print(json.dumps([getattr(sys, "_base_executable", sys.executable), version, list(folders)]))
"""
_TIMEOUT_S = 60


def shipped_environment(python: Path) -> Shipped:
    """Return the environment of an interpreter."""
    try:
        done = subprocess.run(
            [python, "-I", "-c", _DESCRIBE],
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RegistryError(
            f"{python} does not run on this node. Try the kernel in a session. If it does not "
            "start either, tell the administrators."
        ) from error
    base, version, folders = json.loads(done.stdout)
    return Shipped(
        python=python, base=Path(base), version=version, site_packages=tuple(map(str, folders))
    )


def write_stand_ins(shipped: Shipped, folder: Path) -> Mapping[str, str]:
    """Write a wheel without content for each shipped package, so that uv can count on it.

    No index has builds such as torch 2.13.0+cpu, and what other builds of the same version depend
    on is something else.
    """
    for site in map(Path, shipped.site_packages):
        for info in site.glob("*.dist-info"):
            if not (info / "METADATA").is_file():
                # Left behind by an installation that was interrupted.
                continue
            # The text below the first empty line is a description for readers.
            text = (info / "METADATA").read_text("utf-8", "replace").partition("\n\n")[0]
            _write_wheel(info.stem, text, folder)
    return distributions_in(shipped.site_packages)


def write_stand_in(name: str, version: str, folder: Path) -> bool:
    """Write a wheel without content for one package of which only name and version are known.

    Returns:
        False if that is no version in Python's sense, so that nothing can depend on it.
    """
    try:
        Version(version)
    except InvalidVersion:
        return False
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"
    # As PEP 427 escapes it.
    _write_wheel(f"{re.sub('[-_.]+', '_', name)}-{version}", metadata, folder)
    return True


def _write_wheel(stem: str, metadata: str, folder: Path) -> None:
    info = f"{stem}.dist-info"
    files = {
        f"{info}/METADATA": f"{metadata}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
