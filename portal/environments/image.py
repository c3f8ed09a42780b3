"""Makes an image file from a container of a registry, such as NVIDIA's."""

import os
import re
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from portal.environments.errors import RegistryError

OWN_FOLDER = Path(".local/share/data-scientist-portal/images")
NGC_USER = "$oauthtoken"
# Registry and path as Docker writes them, or a path that apptainer reads itself.
_DOCKER = re.compile(r"docker://[a-z0-9][\w.:/@+-]{0,500}", re.ASCII)
_LOCAL = re.compile(
    r"(?P<kind>oci|docker-archive):(?P<path>[^:\s]{1,1000})(?P<tag>:[\w.-]{1,128})?"
)
_MAX_KEY_BYTES = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Credentials for a registry.

    Attributes:
        user: NVIDIA's registry knows only "$oauthtoken".
        key: The password or token; left out of repr().
    """

    user: str
    key: str

    def __repr__(self) -> str:
        return f"Login(user={self.user!r})"


def is_source(text: str) -> bool:
    """Return whether a text names an image's source (docker:, oci: and the like), not a file."""
    return re.match(r"[a-z][a-z0-9+-]*:", text) is not None


def parse_source(text: str) -> str:
    """Return the source of an image as apptainer reads it, with an absolute path."""
    if _DOCKER.fullmatch(text):
        return text
    found = _LOCAL.fullmatch(text)
    if found is None:
        raise RegistryError(
            f"The image {text!r:.80} has no known form. Give an image file, "
            "docker://REGISTRY/NAME:TAG, oci:FOLDER or docker-archive:FILE."
        )
    path = Path(found[2]).expanduser().absolute()
    if not os.path.exists(path):
        raise RegistryError(
            f"The image {path} does not exist. Give the path of one on this machine."
        )
    return f"{found[1]}:{path}"


def read_key(path: Path) -> str:
    """Return the key in a file of one line, which must be the user's own with mode 0600."""
    try:
        if not os.path.isfile(path):
            raise RegistryError(f"{path} is not a file. Name a file that contains the key.")
        with path.open("rb") as file:
            # On the open file, which cannot be replaced between check and reading.
            _check_private(path, os.fstat(file.fileno()))
            key = file.read(_MAX_KEY_BYTES).decode().strip()
    except OSError as error:
        raise RegistryError(f"The key in {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        key = ""
    if not key or not key.isprintable():
        raise RegistryError(f"{path} contains no key. Write the registry's key in it, in one line.")
    return key


def _check_private(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise RegistryError(f"{path} belongs to another user. Give a key file of your own.")
    if mode := stat.S_IMODE(status.st_mode) & 0o177:
        raise RegistryError(
            f"Others may read the key in {path}: its mode has {mode:o} beyond 600. "
            f"Run: chmod 600 {path}. If others could read it for some time, request a new key."
        )


def make_image(container: Path | None, source: str, image: Path, login: Login | None) -> None:
    """Make an image file, with apptainer's progress on the terminal."""
    if container is None:
        raise RegistryError(
            "This machine has neither apptainer nor singularity, which make images. "
            "Add the environment in a terminal of a session, or load their module first."
        )
    if os.path.exists(image):
        raise RegistryError(f"{image} already exists. Choose another name, or remove the file.")
    # In the same folder, so that it can be renamed in one step.
    part = image.with_name(f".{image.name}.part")
    try:
        image.parent.mkdir(parents=True, exist_ok=True)
        _build(container, source, part, login)
        part.replace(image)
    except OSError as error:
        raise RegistryError(f"{image} cannot be written: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)


def _build(container: Path, source: str, part: Path, login: Login | None) -> None:
    print(f"Making an image from {source}; large ones take many minutes.", flush=True)
    # A home's quota seldom has room for a second copy of each layer.
    # --force: a build that was killed has left its part of the file.
    argv = [str(container), "build", "--force", "--disable-cache", str(part), source]
    environ = os.environ | _credentials(container, login)
    status = subprocess.run(argv, env=environ, stdin=subprocess.DEVNULL, check=False).returncode
    if status != 0:
        needs_key = login is None and source.startswith("docker:")
        hint = " If the registry wants a key, name its file with --registry-key." * needs_key
        raise RegistryError(
            f"No image was made and nothing was added: {container.name} ended with status "
            f"{status}; what it said is above.{hint} Where a disk is full, set TMPDIR to a folder "
            "with room for the unpacked image."
        )


def _credentials(container: Path, login: Login | None) -> Mapping[str, str]:
    """Return a login as environment variables: everybody on the node can read arguments.

    Source:
        https://apptainer.org/docs/user/1.4/docker_and_oci.html#authentication
    """
    if login is None:
        return {}
    prefix = "SINGULARITY" if container.name == "singularity" else "APPTAINER"
    return {f"{prefix}_DOCKER_USERNAME": login.user, f"{prefix}_DOCKER_PASSWORD": login.key}
