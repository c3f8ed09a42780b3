"""The features of a session: which there are, and what they do before its first page."""

import logging
import threading
import time
from pathlib import Path

import pytest

from portal.server.features import NAMES, prepare
from tests.support.eventually import eventually

SERVER_DIR = Path(__file__).parents[4] / "portal" / "server"
LOG = logging.getLogger("test_features")


def test_each_folder_with_a_plugin_is_a_feature() -> None:
    assert sorted(NAMES) == sorted(p.parent.name for p in SERVER_DIR.glob("*/plugin.py"))


def test_typescript_lies_in_a_folder_of_the_feature_that_it_belongs_to() -> None:
    sources = (SERVER_DIR / "labextension_src/src").iterdir()

    assert {path.name for path in sources if path.is_dir()} <= {*NAMES, "base", "lab"}


def test_storage_that_hangs_does_not_hold_up_the_session(caplog: pytest.LogCaptureFixture) -> None:
    answers, others = threading.Event(), threading.Event()

    def hang() -> None:
        answers.wait()
        LOG.info("it answered at last")

    caplog.set_level(logging.INFO)
    started_s = time.monotonic()
    prepare([hang, others.set], 0.2, LOG)

    assert time.monotonic() - started_s < 2
    assert others.is_set()
    assert "gave no answer within 0.2 s. The session starts" in caplog.text
    answers.set()
    eventually(lambda: "it answered at last" in caplog.text, timeout_s=5)
