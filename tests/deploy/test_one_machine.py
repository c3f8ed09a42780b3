"""The cluster on this machine: nodes are hosts of their own, accounts and secrets are guarded."""

import grp
import os
import pwd
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.one_machine.machine import daemons
from deploy.one_machine.node import running_cluster
from deploy.one_machine.supervisor import pid_of
from tests.support.eventually import eventually
from tests.support.portal_client import demo_password

pytestmark = pytest.mark.cluster

CHECKOUT = Path(__file__).parents[2]
SETTINGS = Path("/etc/data-scientist-portal/portal.toml")
STATE_DIR = Path("/var/lib/data-scientist-portal")
LOG_DIR = Path("/var/log/data-scientist-portal")
ADDRESSES = {"node01": "10.77.0.11", "node02": "10.77.0.12"}
LAUNCHER = "/opt/data-scientist-portal/libexec/dsportal-launcher"


def run(
    *argv: str, user: str = "", stdin: str = "", timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    as_user: Sequence[str] = ()
    if user:
        account = pwd.getpwnam(user)
        ids = (f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}")
        as_user = ("setpriv", *ids, "--init-groups", "--reset-env")
    return subprocess.run(
        [*as_user, *argv],
        input=stdin,
        capture_output=True,
        text=True,
        cwd="/",
        timeout=timeout_s,
        check=False,
    )


def on_node(script: str, *options: str) -> str:
    """Run shell text as ada in a job and return what it printed."""
    done = run("srun", "-Q", "-n1", "-N1", "--mem=100M", *options, "bash", "-c", script, user="ada")
    assert done.returncode == 0, done.stderr
    return done.stdout


def has_device_control() -> bool:
    return "TaskPlugin=task/cgroup" in Path("/etc/slurm/slurm.conf").read_text()


def are_gpus_simulated() -> bool:
    return "simulated_gpus = true" in SETTINGS.read_text()


def test_a_node_has_its_own_name_address_and_temporary_folder() -> None:
    mark = Path("/tmp/dsportal-test-head-only")
    mark.touch()
    try:
        script = f"hostname; hostname -I; ls {mark} 2>&1 | grep -c 'No such'"
        name, address, n_missing = on_node(script).split()
    finally:
        mark.unlink()

    assert ADDRESSES[name] == address
    assert n_missing == "1"


def test_a_node_finds_itself_and_the_others_by_name() -> None:
    script = "getent hosts dsphead node01 | cut -d' ' -f1; hostname; hostname -i"
    head, first_node, name, address = on_node(script).split()

    assert (head, first_node) == ("10.77.0.1", "10.77.0.11")
    assert ADDRESSES[name] == address


def test_a_job_sees_no_process_of_the_head() -> None:
    names = on_node("cat /proc/[0-9]*/comm 2>/dev/null").split()
    # Debian 13 calls them so.
    commands = {name.removesuffix("-wlm") for name in names}

    assert "slurmd" in commands
    assert not {"slurmctld", "slurmdbd", "mariadbd", "slapd", "munged"} & commands


def test_a_job_reaches_neither_the_proxys_control_port_nor_ldap() -> None:
    script = (
        "for port in 8001 389; do for host in 127.0.0.1 10.77.0.1; do "
        "(exec 3<>/dev/tcp/$host/$port) 2>/dev/null && echo open; done; done; echo done"
    )

    assert on_node(script).split() == ["done"]


def test_a_job_opens_only_the_devices_it_was_given() -> None:
    if not (has_device_control() and are_gpus_simulated()):
        pytest.skip("needs simulated GPUs and control groups of version 1 on this machine")
    script = "for n in 0 1 2 3; do (exec 3</dev/nvidia$n) 2>&1 | sed 's/.*: //'; done"
    answers = on_node(script, "--gpus-per-node=2").splitlines()

    # A device without a driver behind it cannot be opened, but that is another refusal.
    assert sorted(answers) == ["No such device or address"] * 2 + ["Operation not permitted"] * 2


def trackable_resources(*options: str) -> str:
    """Return what a job gets, in Slurm's words."""
    show = ("bash", "-c", "scontrol show job $SLURM_JOB_ID")
    text = run("srun", "-Q", "-N1", "-n1", *options, *show, user="ada").stdout
    # Slurm 24.11 writes what was asked for and what was given.
    given = ("TRES=", "AllocTRES=")
    return next(line for line in text.split() if line.startswith(given))


def test_each_gpu_comes_with_its_cores_and_memory() -> None:
    tres = trackable_resources("--gpus-per-node=1")

    assert "cpu=8" in tres
    assert "mem=48G" in tres
    assert "gres/gpu=1" in tres


def test_a_job_that_asks_for_no_memory_gets_that_of_its_cores_not_the_node() -> None:
    tres = trackable_resources("-c2")

    assert "cpu=2" in tres
    assert "mem=12G" in tres


def test_demo_users_are_accounts_of_this_machine() -> None:
    group = grp.getgrnam("dsusers")
    for name in ("ada", "grace"):
        account = pwd.getpwnam(name)
        home = Path(account.pw_dir).stat()
        assert account.pw_gid == group.gr_gid
        assert (home.st_uid, stat.S_IMODE(home.st_mode)) == (account.pw_uid, 0o700)


def test_nobody_but_its_owner_reads_a_secret() -> None:
    guarded = [
        STATE_DIR / "demo-password",
        STATE_DIR / "ldap-reader-password",
        STATE_DIR / "munge" / "munge.key",
        STATE_DIR / "hub",
        STATE_DIR / "mariadb",
        STATE_DIR / "slapd" / "data",
        STATE_DIR / "slapd" / "tls",
        LOG_DIR / "hub.log",
        Path("/etc/slurm/slurmdbd.conf"),
    ]
    open_to_others = [path for path in guarded if path.stat().st_mode & 0o077]

    assert open_to_others == []


def test_no_secret_is_in_a_command_line() -> None:
    secrets = [demo_password(), (STATE_DIR / "ldap-reader-password").read_text().strip()]
    secrets += [path.read_text().strip() for path in (STATE_DIR / "hub").glob("*-token")]
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            lines.append((folder / "cmdline").read_bytes().decode(errors="replace"))
        except OSError:
            continue

    assert secrets[0]
    assert not any(secret in line for secret in secrets for line in lines)


def test_accounting_listens_on_the_network_of_the_nodes_only() -> None:
    listeners = [line.split()[3] for line in run("ss", "-ltnH").stdout.splitlines()]

    assert [one for one in listeners if one.endswith(":6819")] == ["10.77.0.1:6819"]


def test_nobody_else_reads_what_the_hub_writes() -> None:
    files = [LOG_DIR / "hub.log", *(STATE_DIR / "hub").glob("*.sqlite*")]

    assert len(files) > 1
    assert [path for path in files if path.stat().st_mode & 0o077] == []


def test_ldap_takes_no_password_over_an_open_connection() -> None:
    name = "uid=ada,ou=people,dc=portal,dc=example"
    plain = ("ldapwhoami", "-x", "-H", "ldap://127.0.0.1", "-D", name, "-y", "/dev/stdin")
    done = run(*plain, stdin=demo_password())

    assert done.returncode == 13
    assert "Confidentiality required" in done.stderr


@pytest.mark.parametrize("who", ["strangers", "ada", "the reader"])
def test_ldap_shows_users_to_those_who_log_in_and_password_hashes_to_nobody(who: str) -> None:
    base = "dc=portal,dc=example"
    search = ["ldapsearch", "-x", "-LLL", "-ZZ", "-H", "ldap://127.0.0.1", "-b", base]
    passwords = {
        "ada": (f"uid=ada,ou=people,{base}", demo_password()),
        "the reader": (
            f"cn=reader,{base}",
            (STATE_DIR / "ldap-reader-password").read_text().strip(),
        ),
    }
    entry, password = passwords.get(who, ("", ""))
    if entry:
        search += ["-D", entry, "-y", "/dev/stdin"]
    environment = {"LDAPTLS_CACERT": "/etc/data-scientist-portal/ldap-ca.pem"}
    done = run("env", *(f"{k}={v}" for k, v in environment.items()), *search, stdin=password)

    assert ("uid: ada" in done.stdout) is bool(entry)
    assert "userPassword" not in done.stdout


@pytest.mark.parametrize(
    "argv",
    [
        ("-u", "ada", LAUNCHER, "--help"),
        ("-u", "ada", "/bin/sh", "-c", "id"),
        ("-u", "root", LAUNCHER),
        ("-u", "dsportal", LAUNCHER),
    ],
    ids=["argument", "other program", "root", "own account"],
)
def test_the_hub_may_run_nothing_but_the_launcher_of_a_user(argv: tuple[str, ...]) -> None:
    done = run("sudo", "-n", *argv, user="dsportal", stdin="{}")

    assert done.returncode != 0
    assert "password is required" in done.stderr or "not allowed" in done.stderr


def test_the_hub_may_run_the_launcher_of_a_user() -> None:
    done = run("sudo", "-n", "-H", "-u", "ada", LAUNCHER, user="dsportal", stdin="{}")

    assert "password is required" not in done.stderr
    assert '"ok"' in done.stdout


def test_the_accounts_of_hub_and_proxy_have_no_rights() -> None:
    for part in ("hub", "proxy"):
        assert os.stat(f"/proc/{pid_of(part)}").st_uid == pwd.getpwnam("dsportal").pw_uid


def test_root_runs_the_administrators_command_by_its_name() -> None:
    done = run("dsportal", "status")

    assert done.returncode == 0, done.stderr
    assert "new ones    accepted" in done.stdout


KILLED = """\
import os, signal, subprocess
from tests.support.put_back import put_back

with put_back(("dsportal", "undrain")):
    subprocess.run(["dsportal", "drain", "--yes", "--message", "New disks."], check=True)
    subprocess.run(["sbatch", "--uid=ada", "--wrap=sleep 900", "--chdir=/", "--output=/dev/null"])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_tests_begin_without_what_a_killed_run_has_left() -> None:
    subprocess.run([sys.executable, "-c", KILLED], cwd=CHECKOUT, check=False, timeout=60)
    assert "refused: New disks." in run("dsportal", "status").stdout
    started = run(str(CHECKOUT / "deploy" / "up"), timeout_s=300).stdout
    assert "Sessions  are refused: 'dsportal status' says why" in started

    subprocess.run([sys.executable, "-m", "tests.support.put_back"], cwd=CHECKOUT, check=True)

    assert "new ones    accepted" in run("dsportal", "status").stdout
    eventually(lambda: not run("squeue", "--noheader").stdout, timeout_s=60)


def pids() -> dict[str, int | None]:
    return {name: pid_of(name) for name in daemons(running_cluster())}


def test_setting_up_again_changes_nothing_and_is_quick() -> None:
    up = str(CHECKOUT / "deploy" / "up")
    # What has changed in the checkout since the last time is installed now, not below.
    assert run(up, timeout_s=300).returncode == 0
    configuration = [Path("/etc/slurm/slurm.conf"), SETTINGS, Path("/etc/nsswitch.conf")]
    before = pids(), [path.stat().st_mtime_ns for path in configuration]

    started = time.monotonic()
    done = run(up, timeout_s=60)
    took_s = time.monotonic() - started

    assert done.returncode == 0
    assert None not in before[0].values()
    assert (pids(), [path.stat().st_mtime_ns for path in configuration]) == before
    assert took_s < 30
    assert "http://127.0.0.1:8000" in done.stdout
    assert "Sessions  are refused" not in done.stdout
    assert all(word in done.stdout for word in ("ada", "grace", demo_password(), "deploy/down"))


def test_what_a_killed_supervisor_left_keeps_no_machine_from_being_set_up() -> None:
    os.kill(int(Path("/run/data-scientist-portal/supervisord.pid").read_text()), signal.SIGKILL)

    done = run(str(CHECKOUT / "deploy" / "up"), timeout_s=300)

    assert done.returncode == 0, done.stderr
    assert None not in pids().values()
