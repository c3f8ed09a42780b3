"""A program in place of Slurm's commands: it writes down each call and prints a prepared text."""

from pathlib import Path

_NAMES = ("sinfo", "squeue", "scontrol", "sacct", "sacctmgr", "sbatch", "launcher")

_PROGRAM = """\
#!/bin/sh
echo "${0##*/} $*" >> @FOLDER@/calls
case "${0##*/} $*" in
    "sinfo --all"*) cat @FOLDER@/nodes ;;
    sinfo*) cat @FOLDER@/partitions ;;
    launcher*)
        read -r request
        case "$request" in
            *'"storage_checks"'*) echo '{"ok": true, "checks": {}}' ;;
            *) echo '{"ok": true, "exit_code": 0, "stderr": "sbatch: Job 1 to start at \
2027-01-01T12:00:00 using 8 processors on nodes n0001 in partition gpu"}' ;;
        esac ;;
    "sacctmgr"*user*) cat @FOLDER@/users ;;
esac
"""

_AS_USER = """\
#!/bin/sh
shift
exec "$@"
"""


class SlurmStandIn:
    """Slurm's commands for a hub of its own.

    Args:
        folder: Where everything is; the commands are in its folder "bin".
        n_nodes: Nodes of the one partition, with 4 GPUs each.
    """

    def __init__(self, folder: Path, *, n_nodes: int, n_users: int) -> None:
        self._calls = folder / "calls"
        folder.chmod(0o755)
        (folder / "nodes").write_text("".join(map(_node, range(n_nodes))))
        (folder / "partitions").write_text(
            f"gpu {n_nodes * 4 // 5}/{n_nodes // 5}/0/{n_nodes} 40"
            f" {n_nodes * 16}/{n_nodes * 24}/0/{n_nodes * 40} gpu:v100:4 384000 1-00:00:00\n"
        )
        users = (f"user{n}|research|research||normal||||\n" for n in range(n_users))
        (folder / "users").write_text("".join(users))
        bin_dir = folder / "bin"
        bin_dir.mkdir()
        program = bin_dir / "stand-in"
        program.write_text(_PROGRAM.replace("@FOLDER@", str(folder)))
        as_user = bin_dir / "as-user"
        as_user.write_text(_AS_USER)
        for path in (program, as_user):
            path.chmod(0o755)
        for name in _NAMES:
            (bin_dir / name).symlink_to(program)

    def forget_calls(self) -> None:
        """Count from here on."""
        self._calls.write_text("")

    def calls(self) -> list[str]:
        """Return the commands that were called, with their arguments."""
        return self._calls.read_text().splitlines()


def _node(number: int) -> str:
    n_used = number % 5
    return (
        f"gpu|gpu*|up|1-00:00:00|UNLIMITED|n{number:04}|n{number:04}|mixed|"
        f"{8 * n_used}/{40 - 8 * n_used}/0/40|384000|{49152 * n_used}|gpu:v100:4(S:0-1)|"
        f"gpu:v100:{n_used}(IDX:0-3)|\n"
    )
