"""A small container image with Python and ipykernel, for the kernel tests.

Its Debian is that of this machine, whatever that is.
"""

import hashlib
import json
import platform
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import IO, Any

from deploy.common.errors import DeployError
from deploy.environments.builder.debian import ensure_packages
from deploy.environments.builder.environment import REGISTRY_HINT
from deploy.environments.builder.files import replace_folder
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import run
from deploy.environments.builder.uv import locked, run_pip

TOOLS = ("mmdebstrap",)
# Since Debian 13 the links /bin and /lib64 are those of base-files.
PACKAGES = ("base-files", "python3", "dash", "coreutils", "libstdc++6")
MIRROR = "http://deb.debian.org/debian"
_OCI = "application/vnd.oci.image"
# Most of the files; a kernel starts without, and tests are quicker.
_UNNEEDED = ("usr/share/doc", "usr/share/locale", "usr/share/man", "var/lib/apt", "var/lib/dpkg")
_UNNEEDED_PACKAGES = ("debugpy", "jedi", "tzdata")


def image_dir(plan: Plan) -> Path:
    """Return the image's folder: an OCI layout, which is a docker-archive once it is a tar file."""
    return plan.prefix / "test-image"


def debian_release() -> str:
    """Return Debian's name of this machine's release, such as "trixie"."""
    system = platform.freedesktop_os_release()
    if system["ID"] != "debian" or "VERSION_CODENAME" not in system:
        raise DeployError(
            f"The image for the kernel tests is made of this machine's Debian, and this is"
            f" {system['PRETTY_NAME']}.",
            "Run these tests on Debian 12 or 13.",
        )
    return system["VERSION_CODENAME"]


def make_image(plan: Plan, log: IO[str]) -> None:
    """Make the image from Debian's packages and the server environment's pins."""
    ensure_packages(TOOLS, log)
    new = image_dir(plan).with_name("test-image.new")
    shutil.rmtree(new, ignore_errors=True)
    (new / "blobs/sha256").mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="image-") as name:
        root = Path(name) / "root"
        include = f"--include={','.join(PACKAGES)}"
        release = debian_release()
        source = f"deb {MIRROR} {release} main"
        run(["mmdebstrap", "--variant=extract", include, release, root, source], log=log)
        _add_ipykernel(plan, root, log)
        for unneeded in _UNNEEDED:
            shutil.rmtree(root / unneeded, ignore_errors=True)
        _write_layout(root, new)
    replace_folder(image_dir(plan), new)


def _add_ipykernel(plan: Plan, root: Path, log: IO[str]) -> None:
    """Install ipykernel for the image's Python, which need not be that of the environments."""
    release = python_release(root)
    packages = root / f"usr/local/lib/python{release}/dist-packages"
    lock = root.with_name("lock.txt")
    lock.write_text(locked(plan, "server"))
    words = ("--python-version", release, "--target", packages, "--constraints", lock, "ipykernel")
    server = plan.environment("server")
    run_pip(plan, "install", server, *words, log=log, next_step=REGISTRY_HINT)
    for unneeded in _UNNEEDED_PACKAGES:
        shutil.rmtree(packages / unneeded, ignore_errors=True)


def python_release(root: Path) -> str:
    """Return the release of a Debian's own Python, such as "3.13"."""
    return (root / "usr/bin/python3").readlink().name.removeprefix("python")


def _write_layout(root: Path, folder: Path) -> None:
    """Write the image: one layer, and the files that describe it.

    Source:
        https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md; manifest.json
        is that of `docker save`.
    """
    layer = _add_layer(root, folder)
    machine = {"architecture": "amd64", "os": "linux"}
    diff_ids = {"type": "layers", "diff_ids": [layer["digest"]]}
    environ = {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]}
    config = _add_json(folder, "config", {**machine, "config": environ, "rootfs": diff_ids})
    manifest = {"schemaVersion": 2, "config": config, "layers": [layer]}
    described = _add_json(folder, "manifest", manifest)
    described["annotations"] = {"org.opencontainers.image.ref.name": "latest"}
    _write_json(folder / "oci-layout", {"imageLayoutVersion": "1.0.0"})
    _write_json(folder / "index.json", {"schemaVersion": 2, "manifests": [described]})
    docker = {"Config": _blob(config), "RepoTags": ["kernel:latest"], "Layers": [_blob(layer)]}
    _write_json(folder / "manifest.json", [docker])


def _add_layer(root: Path, folder: Path) -> dict[str, Any]:
    path = folder / "layer.tar"
    with tarfile.open(path, "w") as tar:
        tar.add(root, arcname=".", filter=_without_devices)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    path.rename(folder / "blobs/sha256" / digest)
    return _descriptor("layer.v1.tar", digest, folder)


def _without_devices(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    # Only root can unpack them.
    return None if member.ischr() or member.isblk() else member


def _add_json(folder: Path, kind: str, content: Any) -> dict[str, Any]:
    data = json.dumps(content).encode()
    digest = hashlib.sha256(data).hexdigest()
    (folder / "blobs/sha256" / digest).write_bytes(data)
    return _descriptor(f"{kind}.v1+json", digest, folder)


def _descriptor(kind: str, digest: str, folder: Path) -> dict[str, Any]:
    size_bytes = (folder / "blobs/sha256" / digest).stat().st_size
    return {"mediaType": f"{_OCI}.{kind}", "digest": f"sha256:{digest}", "size": size_bytes}


def _blob(descriptor: dict[str, Any]) -> str:
    return f"blobs/{descriptor['digest'].replace(':', '/')}"


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content))
