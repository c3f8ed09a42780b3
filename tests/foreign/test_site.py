"""The portal on a cluster that is not ours, installed by the administrators' guide alone."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.foreign import layout
from tests.foreign.guide import GUIDE, edited, steps_of
from tests.foreign.machine import CHECKOUT, Machine, install_packages
from tests.foreign.seed import seed_environments
from tests.support.eventually import eventually

SHARED = str(layout.SOFTWARE_DIR / "dsportal")
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
# Gigabytes that say nothing more about an installation.
INSTALL_OPTIONS = "--without-frameworks"
SYSTEMCTL = "/usr/local/sbin/systemctl"
URL = f"https://{layout.PORTAL_HOST}"
OF_HUB = ("/hub/", "_xsrf")
SEEDED = ("server", "tensorboard")
UNITS = ("proxy.service", "hub.service", "culler.service", "backup.service", "backup.timer")


@dataclass
class Site:
    """The cluster, and what the guide's commands said, by command."""

    machine: Machine
    said: dict[str, subprocess.CompletedProcess[str]] = field(default_factory=dict)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command line of the guide as root."""
        is_install = command.startswith(INSTALL)
        line = f"{command} {INSTALL_OPTIONS}" if is_install else command
        return self.machine.run(
            "sh", "-c", line, has_registries=is_install, is_checked=False, timeout_s=600
        )

    def follow(self, section: str) -> None:
        """Do what a section of the guide tells, in its order."""
        steps = [s for s in steps_of(GUIDE.read_text(), VALUES) if s.section == section]
        assert steps, f"the guide has no section {section} with something to do"
        for step in steps:
            if step.path:
                text = edited(self.machine.read(step.path), step)
                self.machine.write(step.path, text)
            for command in step.commands if not step.path else []:
                done = self.said[command] = self.run(command)
                wanted = {0, 2} if "--check" in command else {0}
                assert done.returncode in wanted, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    machine = Machine()
    try:
        install_packages(machine)
        machine.write(SYSTEMCTL, (CHECKOUT / "tests/foreign/systemctl.py").read_text(), mode=0o755)
        with ThreadPoolExecutor() as pool:
            seeded = pool.submit(seed_environments, machine, SHARED, *SEEDED)
            machine.run("/usr/bin/python3", "-B", "-m", "tests.foreign.cluster")
            machine.run("systemctl", "start", "nginx")
            print("environments of sessions moved here" if seeded.result() else "all built here")
        site = Site(machine)
        site.follow("Install")
        site.follow("Settings")
        # The one thing that no guide has: GPUs that compute nothing.
        path = "/etc/data-scientist-portal/portal.toml"
        said = "# simulated_gpus = false"
        assert said in machine.read(path)
        machine.write(path, machine.read(path).replace(said, "simulated_gpus = true"))
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


def test_a_check_first_says_what_would_be_done(site: Site) -> None:
    checked = next(done for command, done in site.said.items() if "--check" in command)

    assert checked.returncode == 2
    assert re.search(r"would +account dsportal: make it", checked.stdout)
    assert "would  /etc/data-scientist-portal/slurm.env: write it" in checked.stdout


def test_a_second_installation_changes_nothing(site: Site) -> None:
    check, install = (command for command in site.said if command.startswith(INSTALL))

    checked, installed = site.run(check), site.run(install)

    assert checked.returncode == 0, checked.stdout
    assert "0 of" in checked.stdout
    assert "All is in place." in installed.stdout


def test_units_are_what_systemd_reads(site: Site) -> None:
    paths = [f"/etc/systemd/system/dsportal-{unit}" for unit in UNITS]

    done = site.machine.run("systemd-analyze", "verify", *paths, is_checked=False)

    assert done.returncode == 0
    assert not [line for line in done.stderr.splitlines() if "dsportal" in line]


def test_the_check_of_the_guide_finds_no_problem(site: Site) -> None:
    site.follow("Look at everything")

    (said,) = [one.stdout for line, one in site.said.items() if line.startswith("dsportal check")]
    assert "0 problems" in said
    assert "trial-volta" in said
    assert "trial-ampere" in said


def test_users_find_the_data_of_the_templates_beside_them(site: Site) -> None:
    current = f"{SHARED}/current"
    listing = ("ls", f"{current}/templates/start-here.ipynb", f"{current}/datasets/mnist")

    listed = site.machine.run("runuser", "-u", "ada", "--", *listing)

    assert "mnist-10k.npz" in listed.stdout


def test_only_the_ldap_group_of_the_settings_may_log_in(site: Site) -> None:
    status, page = log_in(site, "grace")

    assert status == 403
    assert "grace" in page


def test_a_session_runs_with_a_typed_gpu_behind_tls(site: Site) -> None:
    status, page = log_in(site, "ada")
    assert status == 200, page
    body = json.dumps({"partition": "ampere", "gpu_type": "a100", "gpus": 1})
    headers = [f"X-XSRFToken: {xsrf(site, 'ada')}", "Content-Type: application/json"]
    options = [word for header in headers for word in ("-H", header)]

    started = fetch(site, "/hub/api/users/ada/server", "-d", body, *options, user="ada")
    assert started[0] in {201, 202}, started[1]
    page = eventually(lambda: lab_page(site), timeout_s=180, every_s=1)

    assert queue(site) == [["ada", "RUNNING", "ampere", "ampere1", "gres:gpu:a100:1"]]
    assert "<title>JupyterLab</title>" in page
    assert "jupyter-config-data" in page
    assert '"kernels"' in fetch(site, "/user/ada/api/status", user="ada")[1]
    cookies = cookies_of(site, "ada")
    assert {("/user/ada/", "_xsrf"), ("/user/ada/", "jupyterhub-user-ada")} <= set(cookies)
    assert all(cookies.values()), "each cookie, of hub and session, is sent over TLS only"


def test_logs_are_rotated_while_the_hub_writes(site: Site) -> None:
    log = "/var/log/data-scientist-portal/hub.log"
    before = site.machine.read(log)

    site.machine.run("logrotate", "--force", "/etc/logrotate.d/data-scientist-portal")
    fetch(site, "/hub/login?after-the-rotation")

    assert site.machine.read(f"{log}.1").startswith(before[:1000])
    eventually(lambda: "after-the-rotation" in site.machine.read(log), timeout_s=10)
    assert "\0" not in site.machine.read(log)


def test_a_backup_is_made_and_gone_back_to_as_the_guide_says(site: Site) -> None:
    session = queue(site)

    site.follow("Backup")

    eventually(lambda: fetch(site, "/hub/health")[0] == 200, timeout_s=60)
    assert fetch(site, "/hub/home", user="ada", is_followed=True)[0] == 200
    assert queue(site) == session
    assert "<title>JupyterLab</title>" in lab_page(site)


@pytest.mark.skipif(not Path("/dev/fuse").exists(), reason="no FUSE here to squash root with")
def test_root_of_the_cluster_reaches_no_home(site: Site) -> None:
    listed = site.machine.run("ls", "/nfs/home/ada", is_checked=False)
    logs = "/nfs/home/ada/.local/state/data-scientist-portal/logs"
    as_user = site.machine.run("runuser", "-u", "ada", "--", "ls", logs)

    assert "Permission denied" in listed.stderr
    assert "session-" in as_user.stdout
