"""How MLflow's pages look: as dark as JupyterLab, and on a narrow screen."""

import json
import re

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect  # noqa: E402

from tests.lab.optional.test_mlflow import (  # noqa: E402
    PAGE_TIMEOUT_MS,
    context,  # noqa: F401
    logged,  # noqa: F401
    mlflow_python,  # noqa: F401
    open_page,
    server,  # noqa: F401
)
from tests.server.conftest import browser  # noqa: E402, F401
from tests.support.chromium import picture  # noqa: E402


@pytest.fixture
def dark_jupyterlab(server):  # noqa: F811
    """JupyterLab is dark, whatever the system is."""
    place = "lab/api/settings/@jupyterlab/apputils-extension:themes"
    url = f"{server.host}/user/ada/{place}"
    dark = {"adaptive-theme": False, "theme": "JupyterLab Dark"}
    server.http.put(url, json={"raw": json.dumps(dark)}, timeout=30).raise_for_status()
    yield
    server.http.put(url, json={"raw": "{}"}, timeout=30).raise_for_status()


@pytest.mark.usefixtures("logged", "dark_jupyterlab")
def test_pages_are_dark_as_jupyterlab_is_unless_the_user_chooses_otherwise(server, context):  # noqa: F811
    page = context.new_page()
    page.goto(f"{server.host}/user/ada/lab/workspaces/test?reset")
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "false", timeout=60_000)
    url = f"{server.host}{open_page(server, 'mlruns')['url']}"
    body, dark = page.locator("body"), re.compile("dark-mode")

    page.goto(url)

    expect(page.get_by_role("link", name="Default")).to_be_visible(timeout=PAGE_TIMEOUT_MS)
    expect(body).to_have_class(dark)
    picture(page, "mlflow-dark")
    page.goto(f"{url}#/settings")
    page.get_by_role("switch").first.click(timeout=PAGE_TIMEOUT_MS)
    expect(body).not_to_have_class(dark)
    page.reload()
    expect(page.get_by_role("switch").first).to_be_visible(timeout=PAGE_TIMEOUT_MS)
    expect(body).not_to_have_class(dark)


@pytest.mark.usefixtures("logged")
def test_the_sidebar_leaves_a_narrow_screen_to_the_runs_and_unfolds(server, context):  # noqa: F811
    page = context.new_page()
    page.set_viewport_size({"width": 390, "height": 844})

    page.goto(f"{server.host}{open_page(server, 'mlruns')['url']}")

    name = page.get_by_role("link", name="Model registry")
    expect(page.get_by_role("link", name="Default")).to_be_visible(timeout=PAGE_TIMEOUT_MS)
    expect(name).to_have_count(0)
    picture(page, "mlflow-narrow")
    page.get_by_role("button", name="Toggle sidebar").click()
    expect(name).to_be_visible()
