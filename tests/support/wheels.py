"""Wheels made for a test, so that pip has something to install without an index."""

import zipfile
from pathlib import Path


def make_wheel(
    folder: Path, name: str, version: str, text: str, *, module: str = "", requires: str = ""
) -> Path:
    """Write a wheel with one module.

    Args:
        name: Of the package and, if nothing else is given, of its module.
    """
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{module or name}.py": text,
        f"{info}/METADATA": metadata + (f"Requires-Dist: {requires}\n" if requires else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, content)
    wheel.chmod(0o644)
    return wheel


def pack_wheel(environment: Path, name: str, folder: Path) -> Path:
    """Write a wheel of a pure Python package that is installed in an environment."""
    (info,) = environment.glob(f"lib/python3*/site-packages/{name}-*.dist-info")
    paths = (line.partition(",")[0] for line in (info / "RECORD").read_text().splitlines())
    wheel = folder / f"{info.name.removesuffix('.dist-info')}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in paths:
            # Programs in bin and compiled files are made when it is installed.
            if not path.startswith("..") and "__pycache__" not in path:
                archive.write(info.parent / path, path)
    wheel.chmod(0o644)
    return wheel
