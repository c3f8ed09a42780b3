"""Prepares the user's home before the notebook server answers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path

from portal.server.base.storage_links import link_storage, read_storage
from portal.server.templates.copies import copies_folder_name
from portal.server.templates.source import TemplateSource, fetch, template_sources
from portal.server.templates.templates import FOLDER_NAME, install_templates


class Home:
    """Copies templates and links the shared storage.

    Args:
        environ: PORTAL_TEMPLATES_DIR, PORTAL_STORAGE and the session's settings; a missing one
            skips its part.
        clones_dir: For clones of git repositories, on the node's own disk.

    Attributes:
        beside: New releases saved next to templates that the user edited, as paths from the home.
        copies_folder_name: Where cards of the launcher copy templates to.
        problems: Sentences about what could not be done; nothing here ends a session.
    """

    def __init__(
        self, path: Path, environ: Mapping[str, str], clones_dir: Path, log: logging.Logger
    ) -> None:
        self.path = path
        self.sources = template_sources(environ, clones_dir)
        self.beside: list[str] = []
        self.problems: list[str] = []
        self._storage = read_storage(environ)
        self.copies_folder_name = copies_folder_name(self._storage)
        self._log = log

    def prepare(self, *, timeout_s: float) -> None:
        """Copy and link; after `timeout_s` the start no longer waits, and the work continues."""
        # A daemon: hanging storage must not keep the server from ending.
        thread = threading.Thread(target=self._prepare, name="prepare-home", daemon=True)
        thread.start()
        thread.join(timeout_s)
        if thread.is_alive():
            self._log.warning(
                "The home %s or the shared storage gave no answer within %g s. "
                "The session starts; templates and links appear when it does.",
                self.path,
                timeout_s,
            )

    def _prepare(self) -> None:
        try:
            for source in self.sources:
                if not source.url:
                    self._install(source)
            for name, mounted in self._storage.items():
                problem = link_storage(name, mounted, self.path)
                if problem:
                    self._log.warning("%s", problem)
            # Last: a git server may keep this thread waiting.
            for source in self.sources:
                if source.url:
                    self._install(source)
        except OSError:
            self._log.exception(
                "The home %s could not be prepared; the session starts without.", self.path
            )

    def _install(self, source: TemplateSource) -> None:
        problem = fetch(source)
        if problem:
            self._log.warning("%s", problem)
            self.problems.append(problem)
            return
        outcome = install_templates(source.path, self.path, source.below)
        self.beside += [f"{FOLDER_NAME}/{name}" for name in outcome.beside]
        self.problems += outcome.problems
        for note in outcome.notes():
            self._log.info("%s", note)
        for sentence in outcome.problems:
            self._log.warning("%s", sentence)
