"""A container with nothing but Python, and the wheels of what the one for tests has beside that."""

import hashlib
import io
import json
import re
import tarfile
import zipfile
from pathlib import Path

_PACKAGES = re.compile(r"\./usr/local/lib/python3[^/]*/dist-packages/(?P<path>.+)")


def write_bare_archive(layout: Path, archive: Path) -> None:
    """Write what `docker save` would: the container of an OCI `layout` without its packages."""
    layer = io.BytesIO()
    with tarfile.open(_layer_of(layout)) as full, tarfile.open(fileobj=layer, mode="w") as bare:
        for member in full:
            if not _PACKAGES.match(member.name):
                bare.addfile(member, full.extractfile(member) if member.isfile() else None)
    archive.write_bytes(docker_archive(layer.getvalue()))


def write_wheels(layout: Path, folder: Path) -> None:
    """Write a wheel of each package in the container of an OCI `layout`."""
    files: dict[str, bytes] = {}
    with tarfile.open(_layer_of(layout)) as full:
        for member in full:
            found = _PACKAGES.match(member.name)
            content = full.extractfile(member) if found and member.isfile() else None
            if found and content is not None:
                files[found["path"]] = content.read()
    folder.mkdir(exist_ok=True)
    for path, text in files.items():
        if path.endswith(".dist-info/WHEEL"):
            info = path.partition("/")[0]
            record = files[f"{info}/RECORD"].decode().splitlines()
            _write_wheel(
                folder, info, text.decode(), {line.partition(",")[0] for line in record}, files
            )


def _write_wheel(
    folder: Path, info: str, described: str, names: set[str], files: dict[str, bytes]
) -> None:
    tags = [
        line.partition(": ")[2].split("-") for line in described.splitlines() if "Tag: " in line
    ]
    # As in the name of the file that it came in: each part is a set.
    tag = "-".join(".".join(dict.fromkeys(parts)) for parts in zip(*tags, strict=True))
    wheel = folder / f"{info.removesuffix('.dist-info')}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        # Programs in bin, and what the container leaves out, are not there.
        for name in sorted(names & files.keys()):
            archive.writestr(name, files[name])
    wheel.chmod(0o644)


def _layer_of(layout: Path) -> Path:
    (image,) = json.loads((layout / "manifest.json").read_text())
    return layout / str(image["Layers"][0])


def docker_archive(layer: bytes) -> bytes:
    """Return an archive as `docker save` writes it, of an image with one layer, a tar file."""
    diff_ids = [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Env": ["PATH=/usr/bin"]},
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    }
    manifest = [{"Config": "config.json", "RepoTags": ["e:1"], "Layers": ["layer.tar"]}]
    described = {"config.json": config, "manifest.json": manifest}
    files = {name: json.dumps(content).encode() for name, content in described.items()}
    return tar_of({**files, "layer.tar": layer})


def tar_of(files: dict[str, bytes]) -> bytes:
    """Return a tar file."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return written.getvalue()
