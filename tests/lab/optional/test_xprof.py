"""TensorBoard with its profiler, in its optional environment: a training of Keras is in it."""

import re
import subprocess
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect  # noqa: E402

from tests.server.conftest import browser  # noqa: E402, F401
from tests.support.chromium import log_in, picture  # noqa: E402
from tests.support.notebook_server import NotebookServer, descendants  # noqa: E402
from tests.support.tensorboard_contract import listening_inodes, sockets_of  # noqa: E402

PAGE_TIMEOUT_MS = 120_000
TENSORFLOW = Path("/opt/data-scientist-portal/environments/tensorflow/bin/python")
TRAINING = """
import sys
import keras, numpy, tensorflow as tf
model = keras.Sequential([keras.layers.Input((28, 28, 1)), keras.layers.Conv2D(8, 3),
                          keras.layers.Flatten(), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
images, labels = numpy.random.rand(256, 28, 28, 1), numpy.random.randint(0, 10, 256)
board = keras.callbacks.TensorBoard(sys.argv[1], profile_batch=(2, 5))
model.fit(images, labels, epochs=1, verbose=0, callbacks=[board])
"""


@pytest.fixture(scope="module")
def xprof_python(plan):
    return plan.environment("xprof") / "bin/python"


@pytest.fixture(scope="module")
def server(tmp_path_factory, xprof_python):
    server = NotebookServer(tmp_path_factory.mktemp("xprof"), xprof_python)
    logs = server.root / "profiled"
    subprocess.run([TENSORFLOW, "-c", TRAINING, logs], check=True, capture_output=True)
    yield server
    server.stop()


def test_a_profiled_training_is_in_the_tab_profile(server, browser):  # noqa: F811
    context = log_in(browser, server)
    failed: list[str] = []
    context.on("response", lambda one: failed.append(one.url) if one.status >= 400 else None)
    board = server.open("profiled")
    page = context.new_page()

    page.goto(f"{server.host}{board['url']}#profile", timeout=PAGE_TIMEOUT_MS)

    profile = page.frame_locator("iframe[src*='plugin/profile'], iframe").first
    expect(profile.get_by_text(re.compile("Tools", re.I)).first).to_be_visible(
        timeout=PAGE_TIMEOUT_MS
    )
    picture(page, "xprof-overview")
    runs = server.page(board, "data/plugin/profile/runs").json()
    (run,) = runs
    tools = server.page(board, f"data/plugin/profile/run_tools?run={run}").json()
    assert "trace_viewer@" in tools or "trace_viewer" in tools
    profile.locator("mat-select").nth(1).click()
    profile.get_by_role("option", name="Trace Viewer").click()
    trace = profile.frame_locator("iframe")
    # The labels of its menu have the same names, and are hidden.
    track = trace.get_by_text("tf_data_iterator_get_next").locator("visible=true").first
    expect(track).to_be_visible(timeout=PAGE_TIMEOUT_MS)
    picture(page, "xprof-trace")
    assert not [url for url in failed if server.host in url]
    context.close()


def test_it_opens_no_port(server):
    server.open("profiled")

    assert not sockets_of(descendants(server.process.pid)) & listening_inodes()
