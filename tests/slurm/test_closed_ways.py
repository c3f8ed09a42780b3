"""What a site has closed: terminals and downloads in sessions, and the portal to one user."""

import json
import pwd
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.slurm.conftest import USER, cancel_all, sessions, start, wait_until_ready
from tests.slurm.installation import InstalledHub
from tests.slurm.test_upgrade import present_package
from tests.support.eventually import eventually
from tests.support.private_hub import ENVIRONMENTS
from tests.support.put_back import put_back

CLOSED = """
[terminals]
enabled = false

[files]
downloads = false
"""


@pytest.fixture
def site() -> Iterator[InstalledHub]:
    cancel_all()
    site = InstalledHub()
    config = site.folder / "config.py"
    config.write_text(config.read_text().replace('"admin:servers"', '"admin:servers", "tokens"'))
    try:
        site.install("new", present_package(site.shared / "new-package"))
        yield site
    finally:
        site.stop()
        site.close()
        cancel_all()


@pytest.fixture
def home_that_wants_terminals() -> Iterator[None]:
    """Let the user's own settings switch them on."""
    account = pwd.getpwnam(USER)
    path = Path(account.pw_dir, ".jupyter/jupyter_server_config.d/terminals.json")
    with put_back(("rm", "-f", str(path))):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"ServerApp": {"terminals_enabled": True}}))
        for one in (path.parent.parent, path.parent, path):
            shutil.chown(one, USER)
        yield


def test_a_site_closes_terminals_downloads_and_itself_to_one_user(
    site: InstalledHub, home_that_wants_terminals: None
) -> None:
    settings = site.settings.read_text()
    server = f'server = "{site.nodes}/current/environments/server"'
    settings = settings.replace(server, f'server = "{ENVIRONMENTS}/server"')
    site.settings.write_text(settings + CLOSED)
    site.start_installed()
    site.rest("POST", f"/users/{USER}").raise_for_status()
    start(site)
    wait_until_ready(site)

    made = site.rest("POST", f"/users/{USER}/tokens")
    http = requests.Session()
    http.headers["Authorization"] = f"token {made.json()['token']}"

    def status(path: str, method: str = "GET") -> int:
        url = f"{site.public_url}/user/{USER}/{path}"
        return http.request(method, url, timeout=30, allow_redirects=False).status_code

    assert status("api/contents") == 200
    assert status("api/terminals") == 404
    assert status("api/terminals", "POST") == 404
    assert status("files/.profile") == 403
    assert status("portal/api/archive?path=work") == 403
    page = http.get(f"{site.public_url}/user/{USER}/lab", timeout=30).text
    assert '"terminalsAvailable": false' in page

    site.stop()
    site.settings.write_text(
        settings.replace("allow_all = true", f'allow_all = true\nblocked_users = ["{USER}"]')
    )
    site.start_installed()

    eventually(lambda: not sessions(), timeout_s=60)
    assert http.get(f"{site.address}/api/users/{USER}", timeout=30).status_code == 403
