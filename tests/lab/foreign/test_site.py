"""The portal on a cluster that is not ours, installed by the administrators' guide alone."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.foreign.guide import read_guide, steps_of
from tests.lab.foreign.seed import take_layers_away
from tests.lab.foreign.site import (
    INSTALL,
    OWN_ENVIRONMENT,
    SHARED,
    VALUES,
    Site,
    cards_of,
    cookies_of,
    fetch,
    installed_site,
    lab_page,
    log_in,
    queue,
    start_session,
    xsrf,
)
from tests.suites import OUTPUT_DIR
from tests.support.eventually import eventually

# Folders of templates that need what this site has not.
RARE = {"containers", "horovod"}
# The front end is the site's, and the guide leaves its configuration to the site.
NGINX = ("/etc/nginx/", "/var/log/nginx/", "/var/lib/nginx/")
UNITS = ("proxy.service", "hub.service", "backup.service", "backup.timer")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with installed_site("--without-frameworks") as site:
        yield site


def test_a_check_first_says_what_would_be_done(site: Site) -> None:
    checked = next(done for command, done in site.said.items() if "--check" in command)

    assert checked.returncode == 2
    assert re.search(r"would +account dsportal: make it", checked.stdout)
    assert "would  /etc/data-scientist-portal/slurm.env: write it" in checked.stdout


def test_what_a_suite_writes_in_a_machine_of_its_own_reaches_the_checkout(site: Site) -> None:
    """The suite of faults reports from there, also where a copy of the checkout is tested."""
    written = OUTPUT_DIR / "written-in-the-machine"

    site.machine.run("touch", str(written))

    assert written.exists()
    written.unlink()


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
    # Slurm's default partition has no such GPU.
    page = start_session(site, gpu_type="a100", gpus=1)

    ((*job, gpus),) = queue(site)
    assert job == ["ada", "RUNNING", "ampere", "ampere1"]
    # Slurm 22.05 writes gres:gpu.
    assert gpus.replace("gres:", "gres/") == "gres/gpu:a100:1"
    assert "<title>JupyterLab</title>" in page
    assert "jupyter-config-data" in page
    assert '"kernels"' in fetch(site, "/user/ada/api/status", user="ada")[1]
    cookies = cookies_of(site, "ada")
    assert {("/user/ada/", "_xsrf"), ("/user/ada/", "jupyterhub-user-ada")} <= set(cookies)
    assert all(cookies.values()), "each cookie, of hub and session, is sent over TLS only"


def test_a_later_change_of_the_settings_counts_for_the_session_that_runs(site: Site) -> None:
    session = queue(site)

    site.follow("Later changes")

    eventually(lambda: fetch(site, "/hub/health")[0] == 200, timeout_s=60)
    assert queue(site) == session
    assert "<title>JupyterLab</title>" in lab_page(site)
    token = f"X-XSRFToken: {xsrf(site, 'ada')}"
    extend = ("/hub/api/dsportal/users/ada/extend", "-X", "POST", "-H", token)
    status, answer = fetch(site, *extend, user="ada")
    assert status == 200, answer


def assert_rare_ones_say_what_they_lack(cards: dict[str, dict[str, str]]) -> None:
    rare = {name: card["advice"] for name, card in cards.items() if name.partition("/")[0] in RARE}
    assert {name.partition("/")[0] for name in rare} == RARE
    assert all(rare.values())
    assert not any(name.startswith(("mxnet/", "r/")) for name in cards)


def test_templates_say_what_the_kernels_of_the_site_lack(site: Site) -> None:
    cards = cards_of(site)

    assert cards["tensorflow/digits.ipynb"]["title"].endswith(" (needs keras>=3, tensorflow)")
    assert "dsportal environments add NAME" in cards["tensorflow/digits.ipynb"]["advice"]
    assert_rare_ones_say_what_they_lack(cards)


def test_an_environment_of_the_site_runs_the_templates_that_it_has_the_packages_of(
    site: Site,
) -> None:
    add = ("dsportal", "environments", "add", "tf", "--site", "--virtualenv", OWN_ENVIRONMENT)
    added = site.machine.run(*add)

    assert "tf: works on this machine." in added.stdout
    eventually(
        lambda: cards_of(site)["tensorflow/digits.ipynb"]["kernel"] == "site-tf", timeout_s=60
    )
    cards = cards_of(site)
    assert cards["start-here.ipynb"]["kernel"] == "site-tf"
    assert_rare_ones_say_what_they_lack(cards)


def test_a_job_script_gets_the_python_of_a_kernel(site: Site) -> None:
    settings = site.machine.run("cat", "/etc/data-scientist-portal/portal.toml").stdout
    server = tomllib.loads(settings)["environments"]["server"]
    script = (
        f"source {server}/commands/dsportal-activate python3 || exit 1\n"
        "python -c 'import sys; print(sys.prefix)'; type -P jupyter dsportal"
    )
    job = ("srun", "-Q", "--ntasks=1", "--mem=500M", "--chdir=/nfs/home/ada", "bash", "-c", script)
    said = site.machine.run("runuser", "-u", "ada", "--", *job).stdout.splitlines()

    assert said[0].startswith("/nfs/home/ada/.local/share/data-scientist-portal/packages/python3-")
    programs = [program.rpartition("/environments/")[2] for program in said[1:]]
    assert programs == ["server/commands/jupyter", "server/commands/dsportal"]


def test_logs_are_rotated_while_the_hub_writes(site: Site) -> None:
    log = "/var/log/data-scientist-portal/hub.log"
    before = site.machine.read(log)

    # Its own state, since what is left on the host is looked at when the portal is removed.
    rotate = ("logrotate", "--force", "--state", "/tmp/logrotate.status")
    site.machine.run(*rotate, "/etc/logrotate.d/data-scientist-portal")
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


# The last one: nothing of the portal is left for others.
def test_nothing_of_the_portal_is_left_on_the_host_when_the_guide_has_removed_it(
    site: Site,
) -> None:
    steps = [step for step in steps_of(read_guide(), VALUES) if step.section == "Uninstall"]
    for command in (command for step in steps for command in step.commands):
        if command.startswith("rm -r "):
            for folder in command.split()[2:]:
                take_layers_away(site.machine, folder)
        done = site.run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"

    eventually(lambda: queue(site) == [], timeout_s=60)
    left = {path for path in site.paths() - site.paths_before if not path.startswith(NGINX)}
    assert left == set()
    accounts = site.machine.run("getent", "passwd", "dsportal", is_checked=False).stdout
    groups = site.machine.run("getent", "group", "dsportal", is_checked=False).stdout
    assert accounts + groups == ""
    running = ("pgrep", "--full", "jupyterhu[b]|configurable-http-prox[y]|prox[y].mjs")
    assert site.machine.run(*running, is_checked=False).stdout == ""
    kept = site.machine.run("runuser", "-u", "ada", "--", "ls", "/nfs/home/ada").stdout.split()
    assert "templates" in kept
