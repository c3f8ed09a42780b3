"""A PostgreSQL of a test's own, reached through a socket only."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
WHY_NOT = "PostgreSQL is not installed"


@contextmanager
def running_postgres(account: str, *, auth: str = "peer") -> Iterator[str]:
    """Yield the address of an empty database.

    Args:
        account: Owner of server and database; PostgreSQL does not run as root.
        auth: Who may log in: "peer" for that account, "trust" for everybody.
    """
    folder = Path(tempfile.mkdtemp(prefix="postgres-", dir="/tmp"))
    folder.chmod(0o755)
    shutil.chown(folder, account)
    data = str(folder / "data")

    def run(program: str, *words: str) -> None:
        subprocess.run(
            [PROGRAMS[-1] / program, *words],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
            user=account,
            extra_groups=[],
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        )

    try:
        run("initdb", "--pgdata", data, f"--auth={auth}", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        run("pg_ctl", "start", "--wait", "-D", data, "-o", options, "-l", str(folder / "log"))
        run("createdb", "--host", str(folder), "jupyterhub")
        user = "" if auth == "peer" else f"&user={account}"
        yield f"postgresql:///jupyterhub?host={folder}{user}"
    finally:
        run("pg_ctl", "stop", "-D", data, "-m", "immediate")
        shutil.rmtree(folder)
