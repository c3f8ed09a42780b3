"""The account of hub and proxy, and the programs that sudo lets it run as others."""

import os
from pathlib import Path

from deploy.common.command import run
from deploy.common.files import ensure_file
from spawner.sudo_rules import render_rules

ACCOUNT = "dsportal"
LIBEXEC_DIR = Path("/opt/data-scientist-portal/libexec")


def make_account(name: str, home_dir: Path) -> None:
    """Create an account and its group, without password and shell.

    `home_dir` is recorded, but not created.
    """
    home = ("--home-dir", str(home_dir), "--no-create-home")
    shell = ("--shell", "/usr/sbin/nologin", "--comment", "Data Scientist Portal")
    run(["useradd", "--system", "--user-group", *home, *shell, name])


def render_sudoers(
    *, group: str, slurm_user: str, account: str, mark: str, variables: Path | None = None
) -> str:
    """Return the sudo rules of an installation; `spawner.sudo_rules` says what each word means."""
    return render_rules(
        account=account,
        group=group,
        slurm_user=slurm_user,
        launcher=LIBEXEC_DIR / "dsportal-launcher",
        extender=LIBEXEC_DIR / "dsportal-extender",
        mark=mark,
        variables=variables,
    )


def write_sudoers(path: Path, text: str) -> None:
    """Write rules of sudo to a file once visudo has checked them."""
    # sudo reads no file of its folder with a dot in the name.
    draft = path.with_name(f"{path.name}.draft")
    ensure_file(draft, text, mode=0o440)
    try:
        # A file that sudo cannot parse could lock everybody out of it.
        run(["visudo", "-cf", draft])
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
