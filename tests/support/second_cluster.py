"""A second cluster on this machine: its own munge, slurmctld and one node.

It has no accounting, or that of the first cluster: one slurmdbd for both.
"""

import os
import re
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

from tests.support.eventually import eventually
from tests.support.private_hub import ADDRESS

NAME = "volta"
PARTITION = "other"
FOLDER = Path("/run/dsportal-second-cluster")
SLURM_CONF = FOLDER / "slurm.conf"
# Where a site's root names its further clusters.
CLUSTERS = Path("/etc/data-scientist-portal/clusters.env")
FIRST_CONF = Path("/etc/slurm/slurm.conf")
# What a hub of the tests is told of it.
TRAITS = {
    "slurm_conf": str(SLURM_CONF),
    "slurm_title": "Volta",
    "partitions": [PARTITION],
}
CONF = f"""\
ClusterName={NAME}
SlurmctldHost={NAME}({ADDRESS})
SlurmctldPort=17817
SlurmdPort=17818
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=socket={FOLDER}/munge/socket
StateSaveLocation={FOLDER}/ctld
SlurmdSpoolDir={FOLDER}/d
SlurmctldPidFile={FOLDER}/ctld/pid
SlurmdPidFile={FOLDER}/d/pid
SlurmctldLogFile={FOLDER}/ctld/log
SlurmdLogFile={FOLDER}/d/log
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
KillWait=3
JobRequeue=0
MessageTimeout=5
SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=5
PartitionName={PARTITION} Nodes=ALL Default=YES State=UP MaxTime=1-0
NodeName={NAME} NodeAddr={ADDRESS} CPUs=32 RealMemory=400000 Gres=gpu:2 State=UNKNOWN
"""


class SecondCluster:
    """A cluster of one node with two GPUs.

    Args:
        has_accounting: Whether the slurmdbd of the first cluster serves this one, too.
    """

    def __init__(self, *, has_accounting: bool = False) -> None:
        self._has_accounting = has_accounting
        self._parts: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, first_job_id: int) -> None:
        """Start it; its first job has this id."""
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(mode=0o755)
        for folder, owner in (("munge", "munge"), ("ctld", "slurm"), ("d", "root")):
            (FOLDER / folder).mkdir(mode=0o755)
            shutil.chown(FOLDER / folder, owner, owner)
        key = FOLDER / "munge/key"
        key.write_bytes(os.urandom(64))
        key.chmod(0o400)
        shutil.chown(key, "munge", "munge")
        accounting = "AccountingStorageType=accounting_storage/none"
        if self._has_accounting:
            lines = re.findall(r"(?m)^AccountingStorage(?!Enforce).*$", FIRST_CONF.read_text())
            accounting = "\n".join(lines)
        SLURM_CONF.write_text(f"{CONF}{accounting}\nFirstJobId={first_job_id}\n")
        (FOLDER / "gres.conf").write_text(f"Name=gpu File={FOLDER}/gpu[0-1]\n")
        for number in range(2):
            os.mknod(FOLDER / f"gpu{number}", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (FOLDER / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        munge = FOLDER / "munge"
        self._run(
            "munged",
            *("munged", "--foreground", f"--socket={munge}/socket", f"--key-file={key}"),
            *(f"--pid-file={munge}/pid", f"--seed-file={munge}/seed"),
            user="munge",
        )
        eventually(lambda: (munge / "socket").exists(), timeout_s=20)
        self.start_controller()
        self._run("slurmd", *_with_name("slurmd"))
        eventually(lambda: self.ask("sinfo", "-h", "-o", "%T") == "idle", timeout_s=60)

    def start_controller(self) -> None:
        """Start slurmctld, and wait until it answers."""
        self._run("slurmctld", *_with_name("slurmctld"))
        eventually(lambda: " is UP" in self.ask("scontrol", "ping"), timeout_s=60)

    def kill_controller(self) -> None:
        """End slurmctld as a crash does, when it has written down its jobs."""
        before = time.time()
        for job_id in self.jobs():
            self.ask("scontrol", "update", f"JobId={job_id}", "AdminComment=to be saved")
        job_state = FOLDER / "ctld/job_state"
        eventually(lambda: not self.jobs() or job_state.stat().st_mtime > before, timeout_s=30)
        self._parts["slurmctld"].send_signal(signal.SIGKILL)
        self._parts["slurmctld"].wait(20)

    def ask(self, *argv: str) -> str:
        """Return what one of Slurm's commands prints, asking this cluster."""
        environment = {"PATH": os.environ["PATH"], "SLURM_CONF": str(SLURM_CONF)}
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=environment,
            cwd="/",
        )
        return done.stdout.strip()

    def jobs(self) -> list[int]:
        """Return the ids of the jobs that wait or run."""
        return [int(word) for word in self.ask("squeue", "-h", "-o", "%i").split()]

    def close(self) -> None:
        """Cancel its jobs and end its daemons."""
        if "slurmd" in self._parts:
            if self._parts["slurmctld"].poll() is not None:
                self.start_controller()
            for job_id in self.jobs():
                self.ask("scancel", str(job_id))
            eventually(lambda: not self.jobs(), timeout_s=60)
        for part in self._parts.values():
            part.terminate()
        for part in self._parts.values():
            part.wait(30)
        if self._has_accounting:
            subprocess.run(("sacctmgr", "-i", "delete", "cluster", NAME), check=False, timeout=60)
        shutil.rmtree(FOLDER, ignore_errors=True)

    def _run(self, name: str, *argv: str, user: str = "root") -> None:
        with (FOLDER / f"{name}.out").open("ab") as out:
            self._parts[name] = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                user=user,
                group=user,
                cwd="/",
            )


def _with_name(command: str) -> tuple[str, ...]:
    # slurmctld and slurmd run on the host that slurm.conf names.
    # By SLURM_CONF they find the other files beside it, too.
    start = f"hostname {NAME} && exec env SLURM_CONF={SLURM_CONF} {command} -D"
    return ("unshare", "--uts", "sh", "-c", start)
