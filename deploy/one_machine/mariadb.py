"""MariaDB for Slurm's accounting: no network, one account, no password.

The server runs as `slurm` and lets in only that account, known by the kernel over the socket.
"""

from deploy.common.command import run, succeeds
from deploy.common.files import ensure_folder
from deploy.one_machine.layout import MARIADB_DIR
from deploy.one_machine.supervisor import ensure_running

SOCKET = MARIADB_DIR / "mariadb.sock"
DATA_DIR = MARIADB_DIR / "data"
ACCOUNT = "slurm"
AS_ACCOUNT = ("setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups")
INSTALL_TIMEOUT_S = 300
START_TIMEOUT_S = 60


def ensure_mariadb() -> str:
    """Create the database folder if it is missing, and start the server."""
    ensure_folder(MARIADB_DIR, mode=0o700, user=ACCOUNT)
    is_new = not (DATA_DIR / "mysql").is_dir()
    if is_new:
        run(
            [
                *AS_ACCOUNT,
                "mariadb-install-db",
                "--no-defaults",
                f"--datadir={DATA_DIR}",
                "--auth-root-authentication-method=socket",
                f"--auth-root-socket-user={ACCOUNT}",
                "--skip-test-db",
            ],
            timeout_s=INSTALL_TIMEOUT_S,
        )
    outcome = ensure_running("mariadb", is_answering, timeout_s=START_TIMEOUT_S)
    return "database made" if is_new else outcome


def is_answering() -> bool:
    """Return whether a query as Slurm's account works."""
    query = ("mariadb", "--no-defaults", f"--socket={SOCKET}", "-e", "SELECT 1")
    return SOCKET.exists() and succeeds([*AS_ACCOUNT, *query])
