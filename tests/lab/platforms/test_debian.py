"""The portal on a fresh machine of each Debian: the two commands of README, and a session.

The machine is a root made by debootstrap, with network, processes and a name of its own; to the
registries it comes through slirp4netns. The root is kept, and what was installed in it with it: for
a fresh one, take it away.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest

from deploy.environments.builder.package_sources import SETTING
from deploy.environments.builder.plan import Plan
from tests.lab.foreign.machine import CHECKOUT, Machine
from tests.support.checkout import PYTHONPATH
from tests.support.debian_root import CACHE_DIR, ensure_root

ROOTS = CACHE_DIR / "platforms"
RELEASES = ("bookworm", "trixie")
# What README asks for, and what an installed Debian has beside the smallest root.
PACKAGES = ("git", "python3", "ca-certificates", "iproute2", "procps", "hostname")
BUILD = f"{CHECKOUT}/deploy/environments/build"
UP = f"{CHECKOUT}/deploy/up"
DOWN = f"{CHECKOUT}/deploy/down"
TESTS = f"{CHECKOUT}/tests/run"
IN_A_SESSION = f"{CHECKOUT}/tests/lab/platforms/in_a_session.py"
# What this machine's pip has at hand is not there; the ordinary index has to be enough.
ORDINARY_INDEX = f"{SETTING}="
DAEMONS = "slurm|munged|slapd|nslcd|mariadbd|jupyterhub|configurable"
TIMEOUT_S = 3000
# Longer than the suites of tests/run together take on two busy cores.
WHOLE_TIMEOUT_S = 3 * 3600


@pytest.fixture(scope="module", params=RELEASES)
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine with git and python3, and with what earlier runs have installed there."""
    if not shutil.which("slirp4netns"):
        pytest.skip("a machine that reaches the registries needs root and slirp4netns")
    before_s = time.monotonic()
    root = ensure_root(ROOTS / request.param, request.param, PACKAGES)
    print(f"\n{request.param}: {time.monotonic() - before_s:.0f} s")
    machine = Machine(root)
    try:
        machine.connect()
        yield machine
    finally:
        machine.close()


def words_for(*argv: str) -> tuple[str, ...]:
    return ("env", ORDINARY_INDEX, f"PYTHONPATH={PYTHONPATH}", *argv)


def run(machine: Machine, *argv: str) -> str:
    before_s = time.monotonic()
    done = machine.run(*words_for(*argv), timeout_s=TIMEOUT_S)
    command = " ".join(argv).replace(f"{CHECKOUT}/", "")
    print(f"\n{command}: {time.monotonic() - before_s:.0f} s")
    return done.stdout


def test_one_command_installs_and_starts_the_portal(machine: Machine) -> None:
    print(run(machine, "grep", "PRETTY_NAME", "/etc/os-release"))
    print(run(machine, "/usr/bin/python3", "-V"))

    said = run(machine, UP)

    assert "Log in    as ada" in said


def test_the_second_time_nothing_is_changed(machine: Machine) -> None:
    said = run(machine, UP)

    assert "started" not in said
    assert "changed" not in said.replace("unchanged", "")


def test_users_log_in_and_compute_with_every_kernel(machine: Machine) -> None:
    run(machine, BUILD, "test")
    python = str(Plan().environment("test") / "bin/python")
    pytest = ("-B", "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider")

    said = run(machine, python, *pytest, f"--rootdir={CHECKOUT}", IN_A_SESSION)

    print(said.strip().splitlines()[-1])
    assert " passed" in said


@pytest.mark.whole
def test_what_every_change_must_pass_passes(machine: Machine) -> None:
    # On the terminal as it runs: it takes an hour.
    command = machine.words(*words_for(TESTS))

    assert subprocess.run(command, timeout=WHOLE_TIMEOUT_S, check=False).returncode == 0


def test_the_other_command_stops_it(machine: Machine) -> None:
    run(machine, DOWN)

    left = machine.run("pgrep", "--list-name", DAEMONS, is_checked=False)
    assert left.stdout == ""
