"""The whole portal on a fresh machine of a newer Debian: the two commands of README, and a session.

The machine is a root made by debootstrap, with network, processes and a name of its own. Only while
packages are installed it has the network of the machine around. The root is kept, and what was
installed in it with it: for a fresh one, take it away.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from deploy.environments.builder.package_sources import SETTING
from deploy.environments.builder.plan import Plan
from tests.foreign.machine import CHECKOUT, Machine
from tests.support.debian_root import CACHE_DIR, ensure_root

ROOTS = CACHE_DIR / "platforms"
# What README asks for, and what an installed Debian has beside the smallest root.
PACKAGES = ("git", "python3", "ca-certificates", "iproute2", "procps", "hostname")
UP = f"{CHECKOUT}/deploy/up"
BUILD = f"{CHECKOUT}/deploy/environments/build"
IN_A_SESSION = f"{CHECKOUT}/tests/platforms/in_a_session.py"
# What this machine's pip has at hand is not there; the ordinary index has to be enough.
ORDINARY_INDEX = f"{SETTING}="
TIMEOUT_S = 3000


@pytest.fixture(scope="module", params=["trixie"])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine with git and python3, and with what earlier runs have installed there."""
    machine = Machine(ensure_root(ROOTS / request.param, request.param, PACKAGES))
    yield machine
    machine.close()


def run(machine: Machine, *argv: str, has_registries: bool = False) -> str:
    before_s = time.monotonic()
    words = ("env", ORDINARY_INDEX, f"PYTHONPATH={CHECKOUT}", *argv)
    done = machine.run(*words, has_registries=has_registries, timeout_s=TIMEOUT_S)
    command = " ".join(argv).replace(f"{CHECKOUT}/", "")
    print(f"\n{command}: {time.monotonic() - before_s:.0f} s")
    return done.stdout


def test_the_portal_is_installed_and_started(machine: Machine) -> None:
    print(run(machine, "grep", "PRETTY_NAME", "/etc/os-release"))
    print(run(machine, "/usr/bin/python3", "-V"))
    run(machine, UP, "--only", "packages", has_registries=True)
    run(machine, BUILD, "all", "test", has_registries=True)

    said = run(machine, UP)

    assert "Log in    as ada" in said


def test_the_second_time_nothing_is_changed(machine: Machine) -> None:
    said = run(machine, UP)

    assert "started" not in said
    assert "changed" not in said.replace("unchanged", "")


def test_users_log_in_and_compute_with_every_kernel(machine: Machine) -> None:
    python = str(Plan().environment("test") / "bin/python")
    pytest = ("-B", "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider")

    said = run(machine, python, *pytest, f"--rootdir={CHECKOUT}", IN_A_SESSION)

    print(said.strip().splitlines()[-1])
    assert " passed" in said
