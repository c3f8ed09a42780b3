"""Kernels in real container images, which the user made; a cell runs in them as the user."""

import json
import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.environments.command import FIRST_IN_PATH
from portal.environments.registry import OWN_PATH
from tests.support.bare_image import docker_archive, tar_of, write_bare_archive, write_wheels
from tests.support.checkout import PYTHONPATH
from tests.support.eventually import eventually
from tests.support.kernels import offered, run_cell
from tests.support.notebook_server import CHECKOUT, NotebookServer
from tests.support.private_registry import KEY, PROGRAM, running_registry

APPTAINER = Path("/opt/apptainer/bin/apptainer")
IMAGE = Path("/opt/data-scientist-portal/test-image")
BUILD = "python3 -m tests.targets apptainer image"
pytestmark = [
    pytest.mark.skipif(os.getuid() != 0, reason="only root can become the user of a session"),
    pytest.mark.skipif(not APPTAINER.exists(), reason=f"no {APPTAINER}; {BUILD} unpacks it"),
    pytest.mark.skipif(not IMAGE.exists(), reason=f"no {IMAGE}; {BUILD} makes it"),
]
IN_THE_IMAGE = """\
import os, sys
print(os.path.exists('/opt/data-scientist-portal'), sys.executable)
print(os.getuid(), os.environ['CUDA_VISIBLE_DEVICES'])
import dsportal
print(dsportal.__path__[0], os.environ['PYTHONPATH'])
"""


@pytest.fixture(scope="module")
def server(tensorboard_python: Path) -> Iterator[NotebookServer]:
    """A session of an ordinary user, who has made a kernel of each kind of image."""
    with tempfile.TemporaryDirectory(prefix="images-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        environ = {
            "JUPYTER_NO_CONFIG": "1",
            "PORTAL_GPUS_SIMULATED": "1",
            "CUDA_VISIBLE_DEVICES": "0,2",
            "TMPDIR": str(folder / "tmp"),
            # In a checkout the package is a link to its neighbours.
            "PORTAL_SETTINGS": json.dumps({"environments": {"image_binds": [str(CHECKOUT)]}}),
        }
        user_id = pwd.getpwnam("nobody").pw_uid
        server = NotebookServer(folder, tensorboard_python, environ=environ, user_id=user_id)
        yield server
        server.stop()


def add(server: NotebookServer, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run `dsportal environments add` as the user of the session."""
    user_id = server.root.stat().st_uid
    return subprocess.run(
        [sys.executable, "-m", "portal.cli", "environments", "add", *words],
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(server.root),
            "TMPDIR": str(server.tmp_dir),
            "PYTHONPATH": PYTHONPATH,
            "PORTAL_GPUS_SIMULATED": "1",
            # Nothing comes from the network, on no machine.
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            **environ,
        },
        cwd=server.root,
        user=user_id,
        group=user_id,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.release
async def test_a_cell_runs_in_an_image_that_the_user_made(server: NotebookServer) -> None:
    done = add(server, "mine", "--name", "My image", "--image", f"oci:{IMAGE}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Build complete" in done.stderr, "the progress of apptainer is shown"
    assert "'run' starts no ranks in it" in done.stdout, "the index has no cloudpickle"
    assert "mine: works on this machine." in done.stdout

    eventually(lambda: offered(server).get("own-mine") == "My image", timeout_s=60)
    printed = (await run_cell(server, "own-mine", IN_THE_IMAGE)).split()

    library = f"{CHECKOUT}/portal/dsportal"
    assert printed == [
        *("False", "/usr/bin/python3", str(server.root.stat().st_uid), "0,2"),
        *(f"{library}/dsportal", f"{library}/{FIRST_IN_PATH}:{CHECKOUT}:{library}"),
    ]


@pytest.mark.release
async def test_an_image_needs_nothing_but_python_for_a_kernel(server: NotebookServer) -> None:
    archive, wheels = server.tmp_dir / "bare.tar", server.tmp_dir / "wheels"
    write_bare_archive(IMAGE, archive)
    write_wheels(IMAGE, wheels)
    done = add(server, "bare", "--image", f"docker-archive:{archive}", PIP_FIND_LINKS=str(wheels))

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Installing ipykernel and cloudpickle beside the image" in done.stdout
    eventually(lambda: "own-bare" in offered(server), timeout_s=60)
    shown = await run_cell(server, "own-bare", "import ipykernel; ipykernel.__file__")
    beside = server.root / ".local/share/data-scientist-portal/images/bare.kernel"
    assert str(beside) in shown


@pytest.mark.release
@pytest.mark.skipif(not PROGRAM.exists(), reason=f"no {PROGRAM}; Debian has it")
def test_a_container_of_a_registry_comes_with_the_users_key_only(server: NotebookServer) -> None:
    key_file = server.root / "key"
    key_file.write_text(f"{KEY}\n")
    key_file.chmod(0o600)
    os.chown(key_file, server.root.stat().st_uid, -1)
    folder = server.root.parent / "registry"
    folder.mkdir()
    with running_registry(folder) as registry:
        image = registry.push(IMAGE, "nvidia/tensorflow", "24.01")
        trust = {"SSL_CERT_FILE": str(registry.certificate)}

        refused = add(server, "ngc", "--image", image, **trust)
        made = add(server, "ngc", "--image", image, "--registry-key", str(key_file), **trust)

    assert refused.returncode == 1
    assert "authentication required" in refused.stderr
    assert "name its file with --registry-key" in refused.stderr
    assert made.returncode == 0, made.stdout + made.stderr
    assert "ngc: works on this machine." in made.stdout
    assert KEY not in made.stdout + made.stderr
    assert (server.root / ".local/share/data-scientist-portal/images/ngc.sif").stat().st_size > 1e6


def test_an_archive_without_python_becomes_an_image_and_says_what_it_needs(
    server: NotebookServer,
) -> None:
    archive = server.tmp_dir / "empty.tar"
    layer = tar_of(dict.fromkeys(("etc/hosts", "tmp/.keep", "usr/bin/.keep"), b""))
    archive.write_bytes(docker_archive(layer))

    done = add(server, "empty", "--image", f"docker-archive:{archive}", "--into", "images")

    assert "Build complete" in done.stderr
    assert (server.root / "images/empty.sif").exists()
    assert "empty was not added. The image does not start python3; its last output: " in done.stderr
    assert f"is kept: next time add the file {server.root}/images/empty.sif." in done.stderr


def test_what_is_no_image_adds_nothing(server: NotebookServer) -> None:
    text = server.root / "text.tar"
    text.write_text("no image\n")

    done = add(server, "broken", "--image", f"docker-archive:{text}")

    assert done.returncode == 1
    assert "No image was made and nothing was added" in done.stderr
    registry = server.root / OWN_PATH
    assert "[broken]" not in (registry.read_text() if registry.exists() else "")
    assert not list(server.root.glob(".local/share/data-scientist-portal/images/*broken*"))
