"""The container: built from a Debian that debootstrap makes, run as its page says."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.environments.builder.package_sources import SETTING, package_sources
from deploy.environments.builder.plan import Plan
from tests.lab.container.podman import Podman, documented, private_podman
from tests.lab.container.trial import NAME, Trial

CHECKOUT = Path(__file__).parents[3]
PROGRAMS = ("podman", "slirp4netns", "debootstrap")
MIRROR = "http://deb.debian.org/debian"
SITE_CERTIFICATES = Path("/usr/local/share/ca-certificates")
IMAGE = "data-scientist-portal"
BASE = "localhost/debian"
DEBOOTSTRAP_TIMEOUT_S = 900
BUILD_TIMEOUT_S = 3000
STOP_TIMEOUT_S = 60
CELL = """
import os, pathlib, torch
pathlib.Path("kept.txt").write_text("work")
print(os.environ["CUDA_VISIBLE_DEVICES"], torch.ones(2).sum().item())
"""
# Files that would be the same in everybody's container.
SECRETS = (
    *("/var/lib/data-scientist-portal", "/etc/data-scientist-portal", "/home"),
    *("/etc/munge/munge.key", "/etc/ssl/private", "/root/.cache"),
)
FIND_KEYS = ("grep", "-rlsE", "BEGIN ([A-Z]+ )*PRIVATE KEY", "/etc", "/root", "/var/lib")


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    if os.geteuid() != 0 or not all(map(shutil.which, PROGRAMS)):
        pytest.skip(f"a container needs root, {', '.join(PROGRAMS)}")
    parent = os.environ.get("TMPDIR", "/var/tmp")
    with private_podman(Path(tempfile.mkdtemp(prefix="dsp-", dir=parent))) as podman:
        yield podman


@pytest.fixture(scope="module")
def image(podman: Podman) -> str:
    """Build the image as the guide says, without a registry of images."""
    bring_base_image(podman)
    sources = package_sources(os.environ)
    # A wheel of Horovod that this machine has compiled for the same recipe saves minutes.
    wanted = (*sources.folders, SITE_CERTIFICATES, Plan().wheelhouse_dir)
    shown = [folder for folder in wanted if folder.is_dir()]
    command, *words = documented("podman build", {})
    before_s = time.monotonic()
    podman.run(
        command,
        *("--pull=never", "--from", BASE, "--network", "host", "--isolation", "chroot"),
        *(f"--volume={folder}:{folder}:ro" for folder in shown),
        f"--build-arg={SETTING}={os.environ.get(SETTING, '')}",
        *words,
        cwd=CHECKOUT,
        timeout_s=BUILD_TIMEOUT_S,
    )
    n_bytes = int(podman.run("image", "inspect", "--format", "{{.Size}}", IMAGE))
    print(f"\nimage: {n_bytes / 1e9:.1f} GB, built in {time.monotonic() - before_s:.0f} s")
    return IMAGE


def bring_base_image(podman: Podman) -> None:
    """Make an image of Debian, in place of that of a registry."""
    root, archive = podman.folder / "debian", podman.folder / "debian.tar"
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", "bookworm", root, MIRROR],
        capture_output=True,
        text=True,
        timeout=DEBOOTSTRAP_TIMEOUT_S,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"Debian cannot be had: {made.stdout.splitlines()[-1:]}")
    subprocess.run(["tar", "-C", root, "-cf", archive, "."], check=True)
    shutil.rmtree(root)
    podman.run("import", str(archive), BASE)
    archive.unlink()


@pytest.fixture(scope="module")
def options(podman: Podman, image: str) -> list[str]:
    """What this machine needs beside the guide's words; podman sets up no timer without systemd."""
    options = ["--network", "slirp4netns", "--no-healthcheck"]
    probe = ("run", "--rm", *options)
    try:
        podman.run(*probe, "--entrypoint", "/bin/true", image)
    except AssertionError:
        options.append("--cgroups=disabled")
    return options


@pytest.fixture(scope="module")
def trial(podman: Podman, options: list[str]) -> Trial:
    trial = Trial(podman, options)
    before_s = time.monotonic()
    trial.run()
    print(f"\nfirst start: {time.monotonic() - before_s:.0f} s")
    return trial


def test_the_image_holds_no_secret(podman: Podman, image: str, options: list[str]) -> None:
    def inside(program: str, *words: str) -> str:
        run = ("run", "--rm", *options, "--entrypoint", "/usr/bin/env")
        # What is not there is said too, and grep that finds nothing fails.
        script = '"$@" 2>/dev/null || true'
        return podman.run(*run, image, "sh", "-c", script, "sh", program, *words)

    assert inside("find", "/usr/bin/tini").split() == ["/usr/bin/tini"]
    assert inside("find", *SECRETS, "-type", "f").split() == []
    assert inside(*FIND_KEYS).split() == []


async def test_a_user_logs_in_and_trains_on_simulated_gpus(trial: Trial) -> None:
    trial.start_session(n_gpus=2)

    assert await trial.run_cell("pytorch", CELL) == "0,1 2.0\n"


def test_the_health_check_finds_it_healthy(podman: Podman, trial: Trial) -> None:
    said = podman.run("image", "inspect", "--format", "{{json .HealthCheck.Test}}", IMAGE)
    kind, *command = json.loads(said)

    assert kind == "CMD"
    trial.inside(*command)


def test_it_stops_in_order_and_work_outlives_the_container(podman: Podman, trial: Trial) -> None:
    before_s = time.monotonic()
    podman.run(*documented("podman stop", {}))
    took_s = time.monotonic() - before_s
    print(f"\nstopped in {took_s:.0f} s")
    stopped = trial.logs()
    podman.run("rm", NAME)

    assert took_s < STOP_TIMEOUT_S
    assert "1 cancelled" in stopped
    assert "Stop slapd" in stopped.splitlines()[-2]
    trial.run()
    trial.start_session(n_gpus=1)
    assert trial.ask("GET", "contents/kept.txt")["content"] == "work"


def test_one_that_was_killed_starts_again(podman: Podman, trial: Trial) -> None:
    podman.run("kill", "--signal", "KILL", NAME)
    podman.run("wait", NAME)

    before_s = time.monotonic()
    podman.run("start", NAME)
    trial.log_in()

    print(f"\nstarted again: {time.monotonic() - before_s:.0f} s")


async def test_it_runs_in_a_user_namespace_as_rootless_podman_makes_it(
    podman: Podman, options: list[str], trial: Trial
) -> None:
    podman.run("stop", NAME)
    podman.run("rm", NAME)
    mapped = ("--uidmap", "0:100000:65536", "--gidmap", "0:100000:65536")
    other = Trial(podman, [*options, *mapped], volume="dsportal-mapped:/home")
    other.run()

    other.start_session(n_gpus=2)

    assert "100000" in other.inside("cat", "/proc/self/uid_map")
    assert await other.run_cell("pytorch", CELL) == "0,1 2.0\n"
