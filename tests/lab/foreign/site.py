"""The portal on the foreign cluster: installed by the guide's commands, and asked as users do."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.lab.foreign import layout
from tests.lab.foreign.guide import edited, read_guide, steps_of
from tests.lab.foreign.machine import CHECKOUT, Machine, install_packages
from tests.lab.foreign.seed import add_own_environment, make_room, seed
from tests.support.eventually import eventually

SHARED = str(layout.SOFTWARE_DIR / "dsportal")
# An environment of the site's own, which is registered as a kernel.
OWN_ENVIRONMENT = str(layout.SOFTWARE_DIR / "tensorflow")
# What stands on this cluster for what the guide writes.
VALUES = {
    "/srv/isilon/software/dsportal": SHARED,
    "users": layout.UNIX_GROUP,
    "10.0.0.10": layout.HEAD_ADDRESS,
    "ldap.example.com": layout.LDAP_HOST,
    "ou=people,dc=example,dc=com": layout.PEOPLE,
    "cn=gpu-users,ou=groups,dc=example,dc=com": layout.ADMITTED,
    "/etc/ssl/certs/example-ca.pem": str(layout.CA_CERTIFICATE),
    "partitions.gpu": "partitions.volta",
    "partitions.long": "partitions.ampere",
    "/srv/isilon": "/ifs/data",
    "portal.example.com": layout.PORTAL_HOST,
    "/etc/ssl/certs/portal.pem": f"{layout.TLS_DIR}/portal.pem",
    "/etc/ssl/private/portal.key": f"{layout.TLS_DIR}/portal.key",
}
INSTALL = "deploy/site/install"
INSTALL_TIMEOUT_S = 1800
SYSTEMCTL = "/usr/local/sbin/systemctl"
SETTINGS = "/etc/data-scientist-portal/portal.toml"
URL = f"https://{layout.PORTAL_HOST}"
OF_HUB = ("/hub/", "_xsrf")
# Where an installation could leave something, other than homes.
FOLDERS = ("/etc", "/opt", "/root", "/srv", "/usr/local", "/var", "/ifs", str(layout.SOFTWARE_DIR))
# What other tests of this machine change while these run.
NOT_LOOKED_AT = ("/var/cache", "/var/tmp")


@dataclass(frozen=True, kw_only=True)
class Step:
    """A command of the guide, and how long it took."""

    section: str
    what: str
    took_s: float


@dataclass
class Site:
    """The cluster, and what the guide's commands said, by command.

    Attributes:
        paths_before: All files and folders of the host before the guide's first command.
    """

    machine: Machine
    options: tuple[str, ...] = ()
    steps: list[Step] = field(default_factory=list)
    said: dict[str, subprocess.CompletedProcess[str]] = field(default_factory=dict)
    paths_before: frozenset[str] = frozenset()

    def paths(self) -> frozenset[str]:
        """Return all files and folders of the host, but homes."""
        left_out = [word for path in NOT_LOOKED_AT for word in ("-path", path, "-prune", "-o")]
        found = self.machine.run(
            *("find", *FOLDERS, "-xdev", *left_out, "-print"), is_checked=False, timeout_s=300
        )
        return frozenset(found.stdout.splitlines())

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command line of the guide as root."""
        is_install = command.startswith(INSTALL)
        line = " ".join([command, *(self.options if is_install else ())])
        timeout_s = INSTALL_TIMEOUT_S if is_install else 600
        return self.machine.run(
            "sh", "-c", line, has_registries=is_install, is_checked=False, timeout_s=timeout_s
        )

    def follow(self, section: str) -> None:
        """Do what a section of the guide tells, in its order."""
        steps = [s for s in steps_of(read_guide(), VALUES) if s.section == section]
        assert steps, f"the guide has no section {section} with something to do"
        for step in steps:
            if step.path:
                text = edited(self.machine.read(step.path), step)
                self.machine.write(step.path, text)
            for command in step.commands if not step.path else []:
                before = time.monotonic()
                done = self.said[command] = self.run(command)
                took_s = time.monotonic() - before
                self.steps.append(Step(section=section, what=command, took_s=took_s))
                wanted = {0, 2} if "--check" in command else {0}
                assert done.returncode in wanted, f"{command}\n{done.stdout}\n{done.stderr}"


@contextmanager
def installed_site(*options: str, is_fresh: bool = False) -> Iterator[Site]:
    """Install the portal by the guide, from its first command to a hub that answers by TLS.

    Args:
        is_fresh: Build all environments from the registries, though this machine has them.
    """
    machine = Machine()
    try:
        install_packages(machine)
        machine.write(
            SYSTEMCTL, (CHECKOUT / "tests/lab/foreign/systemctl.py").read_text(), mode=0o755
        )
        make_room(machine)
        add_own_environment(machine, OWN_ENVIRONMENT)
        has_frameworks = "--without-frameworks" not in options
        is_seeded = not is_fresh and seed(machine, SHARED, has_frameworks=has_frameworks)
        print("environments of this machine" if is_seeded else "environments are built anew")
        machine.run("/usr/bin/python3", "-B", "-m", "tests.lab.foreign.cluster")
        machine.run("systemctl", "start", "nginx")
        site = Site(machine, options)
        site.paths_before = site.paths()
        site.follow("Install")
        site.follow("Settings")
        # The one thing that no guide has: GPUs that compute nothing.
        said = "# simulated_gpus = false"
        assert said in machine.read(SETTINGS)
        machine.write(SETTINGS, machine.read(SETTINGS).replace(said, "simulated_gpus = true"))
        site.follow("Start")
        site.follow("TLS")
        eventually(lambda: fetch(site, "/hub/health")[0] == 200, timeout_s=60)
        yield site
    finally:
        machine.close()


def fetch(
    site: Site, path: str, *options: str, user: str = "", is_followed: bool = False
) -> tuple[int, str]:
    """Fetch a page with curl on the cluster, trusting its authority; cookies are kept by user."""
    jar = f"/tmp/cookies-{user}" if user else "/dev/null"
    words = ["curl", "-sS", "--cacert", str(layout.CA_CERTIFICATE), "-m", "60", "-b", jar]
    words += ["-c", jar, "-w", "\n%{http_code}", *(["-L"] if is_followed else [])]
    done = site.machine.run(*words, *options, f"{URL}{path}", is_checked=False)
    text, _, status = done.stdout.rpartition("\n")
    return int(status or 0), text + done.stderr


def log_in(site: Site, user: str) -> tuple[int, str]:
    """Log in as with a browser; the answer is the page that follows."""
    password = site.machine.read(str(layout.password_file()))
    fetch(site, "/hub/login", user=user)
    form = ("--data-urlencode", f"username={user}", "--data-urlencode", f"password={password}")
    token = xsrf(site, user)
    return fetch(site, f"/hub/login?_xsrf={token}", *form, user=user, is_followed=True)


def xsrf(site: Site, user: str) -> str:
    """Return the hub's cross-site token of a user's session."""
    return next(
        value
        for _, _, path, _, _, name, value in kept_cookies(site, user)
        if (path, name) == OF_HUB
    )


def cookies_of(site: Site, user: str) -> dict[tuple[str, str], bool]:
    """Return whether each cookie of a user, by path and name, is Secure."""
    lines = kept_cookies(site, user)
    return {(path, name): secure == "TRUE" for _, _, path, secure, _, name, _ in lines}


def kept_cookies(site: Site, user: str) -> list[list[str]]:
    """Return what curl keeps: host, subdomains, path, Secure, end, name and value."""
    lines = site.machine.read(f"/tmp/cookies-{user}").splitlines()
    return [line.split("\t") for line in lines if line.count("\t") == 6]


def queue(site: Site) -> list[list[str]]:
    """Return the jobs of all users: user, state, partition, node and GPUs."""
    text = site.machine.run("squeue", "-h", "-o", "%u|%T|%P|%N|%b").stdout
    return [line.split("|") for line in text.splitlines()]


def lab_page(site: Site) -> str:
    """Return ada's JupyterLab, through the login between hub and session; empty where none is."""
    status, page = fetch(site, "/user/ada/lab", user="ada", is_followed=True)
    return page if status == 200 and "<title>JupyterLab<" in page else ""


def start_session(site: Site, **options: str | int) -> str:
    """Start ada's session as a page does, and wait until it answers; return JupyterLab's page."""
    status, page = log_in(site, "ada")
    assert status == 200, page
    headers = [f"X-XSRFToken: {xsrf(site, 'ada')}", "Content-Type: application/json"]
    words = [word for header in headers for word in ("-H", header)]
    body = json.dumps(options)
    started = fetch(site, "/hub/api/users/ada/server", "-d", body, *words, user="ada")
    assert started[0] in {201, 202}, started[1]
    return eventually(lambda: lab_page(site), timeout_s=180, every_s=1)


def cards_of(site: Site) -> dict[str, dict[str, Any]]:
    """Return the templates that ada's launcher shows, by name."""
    status, page = fetch(site, "/user/ada/portal/api/templates", user="ada")
    assert status == 200, page
    return {card["name"]: card for card in json.loads(page)["templates"]}
