"""What is put into the user's home before the notebook server answers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path

from portal.server.isilon import link_isilon
from portal.server.templates import install_templates


def prepare_home(
    home: Path, environ: Mapping[str, str], log: logging.Logger, *, timeout_s: float
) -> None:
    """Copy the templates and link the shared storage, and go on where storage hangs.

    Args:
        home: The user's home.
        environ: Environment with PORTAL_TEMPLATES_DIR and PORTAL_ISILON_DIR; without one of them
            that part is left out.
        log: Where sentences go; nothing here ends a session.
        timeout_s: Seconds to wait; after that the work goes on beside the session.
    """
    thread = threading.Thread(
        target=_prepare, args=(home, environ, log), name="prepare-home", daemon=True
    )
    thread.start()
    thread.join(timeout_s)
    if thread.is_alive():
        log.warning(
            "The home %s or the shared storage gave no answer within %g s. "
            "The session starts; templates and isilon appear when it does.",
            home,
            timeout_s,
        )


def _prepare(home: Path, environ: Mapping[str, str], log: logging.Logger) -> None:
    try:
        if source_dir := environ.get("PORTAL_TEMPLATES_DIR"):
            outcome = install_templates(Path(source_dir), home)
            for note in outcome.notes():
                log.info("%s", note)
            for problem in outcome.problems:
                log.warning("%s", problem)
        if isilon_dir := environ.get("PORTAL_ISILON_DIR"):
            problem = link_isilon(Path(isilon_dir), home)
            if problem:
                log.warning("%s", problem)
    except OSError:
        log.exception("The home %s could not be prepared; the session starts without.", home)
