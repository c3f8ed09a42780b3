"""Runs in the root of another Debian, in name spaces of its own: a cluster of one host.

munge, MariaDB, slurmdbd, slurmctld and slurmd of that Debian are started, and pytest with the
contract of `spawner.client.slurm.Slurm`. Everything ends with the name space of processes.
"""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

HOST = "other"
# Slurm does not listen where a host has no address but 127.0.0.1.
ADDRESS = "10.88.0.1"
USER = "grace"
N_GPUS = 4
TIMEOUT_S = 60

SLURM_CONF = f"""\
ClusterName=other
SlurmctldHost={HOST}({ADDRESS})
SlurmUser=slurm
StateSaveLocation=/var/lib/slurm/ctld
SlurmdSpoolDir=/var/lib/slurm/d
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
SlurmdParameters=config_overrides
MpiDefault=none
KillWait=5
MessageTimeout=5
SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=5
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={ADDRESS}
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations,limits,qos
NodeName={HOST} NodeAddr={ADDRESS} CPUs=8 RealMemory=2048 Gres=gpu:v100:{N_GPUS} State=UNKNOWN
PartitionName=jupyter Nodes=ALL Default=YES State=UP MaxTime=1-0
"""
SLURMDBD_CONF = f"""\
DbdHost={HOST}
DbdAddr={ADDRESS}
SlurmUser=slurm
AuthType=auth/munge
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurm/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StorageLoc=slurm_accounting
"""
DATABASE = """\
DROP DATABASE IF EXISTS slurm_accounting;
CREATE DATABASE slurm_accounting;
CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED VIA unix_socket;
GRANT ALL ON slurm_accounting.* TO slurm@localhost;
"""
ACCOUNTING = (
    "add account dsp Description=dsp Organization=dsp",
    f"add user {USER} Account=dsp",
)


def main() -> int:
    """Start everything and run the tests."""
    run(["hostname", HOST])
    run(["ip", "link", "set", "lo", "up"])
    run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"])
    Path("/etc/hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} {HOST}\n")
    for name in (USER, "slurm"):
        ensure_account(name)
    for old in ("/var/lib/slurm", "/var/log/slurm"):
        shutil.rmtree(old, ignore_errors=True)
    for folder in ("/var/lib/slurm/ctld", "/var/lib/slurm/d", "/run/slurm", "/var/log/slurm"):
        ensure_folder(folder, "slurm")
    start_munge()
    start_database()
    write_configuration()
    start(["slurmdbd", "-D"], user="slurm")
    until(["sacctmgr", "-n", "-P", "show", "cluster"])
    start(["slurmctld", "-D", "-i"], user="slurm")
    until(["scontrol", "ping"])
    for order in ACCOUNTING:
        run(["sacctmgr", "-i", *order.split()], check=False)
    start(["slurmd", "-D", "-N", HOST])
    until(["sh", "-c", "sinfo -h -o %T | grep -q idle"])
    tests = Path(__file__).with_name("contract.py")
    pytest = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    return run([*pytest, *sys.argv[1:]], check=False)


def run(argv: Sequence[str], *, check: bool = True, stdin: str = "") -> int:
    """Run a program to its end; its output is ours."""
    return subprocess.run(argv, check=check, input=stdin or None, text=True).returncode


def start(argv: Sequence[str], *, user: str = "root") -> None:
    """Start a daemon that ends with the name space."""
    with Path("/var/log", f"{argv[0]}.out").open("wb") as log:
        subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=user, group=user, cwd="/"
        )


def until(argv: Sequence[str]) -> None:
    """Wait until a program succeeds."""
    end_s = time.monotonic() + TIMEOUT_S
    while subprocess.run(argv, capture_output=True, check=False).returncode != 0:
        if time.monotonic() > end_s:
            logs = sorted(Path("/var/log").rglob("slurm*"))
            said = [f"{path}: {path.read_text()[-2000:]}" for path in logs if path.is_file()]
            raise SystemExit("\n".join([f"no success in {TIMEOUT_S} s: {' '.join(argv)}", *said]))
        time.sleep(0.2)


def ensure_account(name: str) -> None:
    """Make an account with a home."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        run(["useradd", "--create-home", "--shell", "/bin/bash", name])


def ensure_folder(path: str, user: str) -> None:
    """Make a folder that belongs to an account."""
    Path(path).mkdir(parents=True, exist_ok=True)
    account = pwd.getpwnam(user)
    os.chown(path, account.pw_uid, account.pw_gid)


def start_munge() -> None:
    """Start munge with a key of its own."""
    key = Path("/etc/munge/munge.key")
    if not key.exists():
        key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    account = pwd.getpwnam("munge")
    os.chown(key, account.pw_uid, account.pw_gid)
    ensure_folder("/run/munge", "munge")
    start(["munged", "--foreground"], user="munge")
    until(["munge", "-n"])


def start_database() -> None:
    """Start MariaDB without a port; it knows the account of Slurm by its socket."""
    # Debian 13 has the first names, unstable the second ones.
    for folder in ("/run/mysqld", "/run/mariadbd"):
        ensure_folder(folder, "mysql")
    if not any(Path(folder, "mysql").exists() for folder in ("/var/lib/mysql", "/var/lib/mariadb")):
        run(["mariadb-install-db", "--user=mysql", "--skip-test-db"])
    start(["mariadbd", "--skip-networking"], user="mysql")
    until(["mariadb", "-e", "SELECT 1"])
    run(["mariadb"], stdin=DATABASE)


def write_configuration() -> None:
    """Write the configuration of Slurm."""
    folder = Path("/etc/slurm")
    folder.mkdir(exist_ok=True)
    (folder / "slurm.conf").write_text(SLURM_CONF)
    (folder / "gres.conf").write_text(
        f"NodeName={HOST} Name=gpu Type=v100 File=/dev/simulated[0-{N_GPUS - 1}]\n"
    )
    for number in range(N_GPUS):
        device = Path(f"/dev/simulated{number}")
        if not device.exists():
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    (folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
    dbd = folder / "slurmdbd.conf"
    dbd.write_text(SLURMDBD_CONF)
    dbd.chmod(0o600)
    account = pwd.getpwnam("slurm")
    os.chown(dbd, account.pw_uid, account.pw_gid)


if __name__ == "__main__":
    sys.exit(main())
