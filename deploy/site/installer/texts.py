"""The files of an installation, and what is left to the site when they are written."""

import re
import secrets
from pathlib import Path

from deploy.common.errors import DeployError
from deploy.common.template import fill
from deploy.site.installer.site import MARK, Site

EXAMPLE = Path(__file__).resolve().parents[1] / "portal.example.toml"

TEMPLATES = Path(__file__).resolve().parent / "templates"
# Those of the services. systemd makes a missing one readable for everybody.
LOGS = ("proxy.log", "hub.log")


def text_of(template: str, **values: object) -> str:
    """Return a file of `templates`; `template` is its name, `values` are what it names."""
    return fill(TEMPLATES / template, {"MARK": MARK, **values})


def render_units(account: str) -> dict[str, str]:
    """Return the text of each systemd unit, by file name."""
    return {path.name: text_of(path.name, ACCOUNT=account) for path in TEMPLATES.glob("dsportal-*")}


def first_settings(site: Site) -> str:
    """Return the commented example of portal.toml, with the paths of this installation."""
    shared = site.shared / "current"
    text = EXAMPLE.read_text(encoding="utf-8")
    for key, path in (
        ("server", shared / "environments/server"),
        ("tensorboard", shared / "environments/tensorboard"),
        ("templates", shared / "templates"),
        ("program", shared / "code-server/bin/code-server"),
    ):
        text, n_found = re.subn(rf'^# ({key} = )"/opt[^"]*"$', rf'\1"{path}"', text, flags=re.M)
        if n_found != 1:
            raise DeployError(
                f"{EXAMPLE} has {n_found} lines '# {key} = '; there has to be one.",
                next_step="Take the file from the release as it was.",
            )
    # What the example shows beside a default is another site's: its S3 store, its help desk.
    return re.sub(r"^(# (\w+) = .*\n)(?=\2 = )", r"\1# ", text, flags=re.M)


def first_secrets() -> str:
    """Return a new secret of the hub, as systemd reads it."""
    return f"JUPYTERHUB_CRYPT_KEY={secrets.token_hex(32)}\n"


def next_steps(site: Site, *, is_new: bool, n_changed: int) -> str:
    """Return the steps that are left to the site, as text for the terminal."""
    check = "Check the site:  dsportal check --user NAME"
    if not is_new and (site.prefix / "current").readlink() == Path(site.version):
        restart = "Let the portal use it:  systemctl restart dsportal-proxy dsportal-hub"
        running = [restart, "Running sessions continue."]
        return "\n".join(["", *(running if n_changed else []), check])
    settings = site.settings_dir
    first = [
        f"1. Edit {settings}/portal.toml: address, [login],"
        " [partitions.NAME]. It admits nobody yet.",
        "   Then: dsportal config check",
        "2. Start:  systemctl enable --now dsportal-proxy dsportal-hub dsportal-backup.timer",
    ]
    again = [
        f"1. Use this version:  dsportal switch {site.version}",
        "2. Running sessions continue, with the version that started them.",
    ]
    return "\n".join(
        [
            "",
            "What is left to you:",
            *(first if is_new else again),
            f"3. {check}",
            f"4. TLS: {site.prefix / site.version}/share/nginx.conf is an example for nginx.",
        ]
    )
