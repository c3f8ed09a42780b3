"""A container image that becomes a kernel in a real JupyterLab, and goes again."""

import os
import pwd
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect  # noqa: E402

from tests.support.bare_image import write_bare_archive, write_wheels  # noqa: E402
from tests.support.chromium import logged_in_page, picture  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.kernels import offered  # noqa: E402
from tests.support.notebook_server import NotebookServer, start_jupyterlab  # noqa: E402

APPTAINER = Path("/opt/apptainer/bin/apptainer")
IMAGE = Path("/opt/data-scientist-portal/test-image")
BUILD = "python3 -m tests.targets apptainer image"
TIMEOUT_MS = 120_000
IN_THE_IMAGE = """import os
print(os.path.exists('/opt/data-scientist-portal'))
!command -v python3"""
pytestmark = [
    pytest.mark.release,
    pytest.mark.skipif(os.getuid() != 0, reason="only root can become the user of a session"),
    pytest.mark.skipif(not APPTAINER.exists(), reason=f"no {APPTAINER}; {BUILD} unpacks it"),
    pytest.mark.skipif(not IMAGE.exists(), reason=f"no {IMAGE}; {BUILD} makes it"),
]


@pytest.fixture(scope="module")
def server(tensorboard_python: Path) -> Iterator[NotebookServer]:
    """The session of an ordinary user; what the index has is what a kernel needs."""
    with tempfile.TemporaryDirectory(prefix="images-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        write_wheels(IMAGE, folder / "wheels")
        environ = {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(folder / "wheels"),
            "PORTAL_GPUS_SIMULATED": "1",
            "TMPDIR": str(folder / "tmp"),
        }
        user_id = pwd.getpwnam("nobody").pw_uid
        server = start_jupyterlab(folder, tensorboard_python, environ, user_id)
        write_bare_archive(IMAGE, server.root / "bare.tar")
        yield server
        server.stop()


@pytest.fixture
def page(server: NotebookServer) -> Iterator[Page]:
    with logged_in_page(server, TIMEOUT_MS) as page:
        yield page


def test_a_container_with_only_python_becomes_a_kernel_in_the_launcher_and_goes_again(
    server: NotebookServer, page: Page
) -> None:
    page.goto(f"{server.host}/user/ada/lab/workspaces/test?reset")
    add_image(page, "docker-archive:/absent.tar")
    dialog = page.locator(".jp-Dialog")
    see(dialog, "/absent.tar does not exist")
    picture(page, "add-image-refused")
    dialog.get_by_role("button", name="Close").click()

    add_image(page, f"docker-archive:{server.root}/bare.tar")
    expect(dialog.get_by_role("progressbar")).to_be_visible(timeout=TIMEOUT_MS)
    see(dialog.get_by_label("Output"), "Creating SIF file")
    picture(page, "adding-image")
    see(dialog, "Environment bare is ready")
    dialog.get_by_role("button", name="Open a notebook").click()

    see(page.locator("#jp-main-statusbar"), "bare | Idle")
    page.locator(".jp-NotebookPanel .jp-Cell .cm-content").first.fill(IN_THE_IMAGE)
    page.keyboard.press("Shift+Enter")
    see(page.locator(".jp-OutputArea-output").first, re.compile(r"False\s+/usr/bin/python3"))

    open_panel(page)
    picture(page, "environments")
    page.get_by_role("button", name="Remove: bare").click()
    see(dialog, "bare.sif will be deleted")
    dialog.get_by_role("button", name="Remove").click()
    see(page.locator("#data-scientist-portal-environments"), "You have none yet")
    assert "own-bare" not in offered(server)
    images = server.root / ".local/share/data-scientist-portal/images"
    eventually(lambda: not list(images.iterdir()), timeout_s=30)


def add_image(page: Page, image: str) -> None:
    page.locator(".jp-LauncherCard").get_by_text("Add an Image").click()
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_label("Short name").fill("bare")
    dialog.get_by_role("textbox", name="Image").fill(image)
    picture(page, "add-image")
    dialog.get_by_role("button", name="Add it").click()


def open_panel(page: Page) -> None:
    page.get_by_role("tab", name="Launcher").click()
    page.locator(".jp-LauncherCard").get_by_text("Environments", exact=True).click()
    see(page.locator("#data-scientist-portal-environments"), "MiB")


def see(place: object, text: str | re.Pattern[str]) -> None:
    expect(place).to_contain_text(text, timeout=TIMEOUT_MS)
