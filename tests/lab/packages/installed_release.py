"""A hub and sessions of environments that hold nothing but the files of a release."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from deploy.environments.builder import uv
from deploy.environments.builder.plan import PYTHON, Plan
from tests.lab.packages.release_files import ReleaseFiles
from tests.slurm.installation import InstalledHub

# What a user may do in a session, for the service that asks in a user's place.
MAY_OPEN_SESSIONS = """\
c.JupyterHub.load_roles[0]["scopes"].append("access:servers")
"""


class InstalledRelease(InstalledHub):
    """Versions of the portal beside each other, each installed from the files of a release."""

    def __init__(self) -> None:
        super().__init__()
        with (self.folder / "config.py").open("a") as config:
            config.write(MAY_OPEN_SESSIONS)

    def install_release(self, files: ReleaseFiles, portal: str, library: str) -> None:
        """Install a release beside the others; the first one is in use."""
        package = f"data_scientist_portal[{{}}] @ file://{files.file(portal)}"
        hub = self.prefix / files.version / "environments/hub"
        make_environment(hub, [package.format("hub")])
        server = self.nodes / files.version / "environments/server"
        of_library = f"dsportal @ file://{files.file(library)}"
        make_environment(server, [package.format("server"), of_library])
        for folder in (self.prefix, self.nodes):
            if not (folder / "current").is_symlink():
                (folder / "current").symlink_to(files.version)


def make_environment(folder: Path, requirements: Sequence[str]) -> None:
    """Install into an empty environment, by the newest packages that the requirements allow."""
    # Not the Python of the tests: the nodes have this one.
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
    uv.run_pip(Plan(), "install", folder, "--quiet", *requirements, log=sys.stdout)
