"""Brings the site's templates into the user's home."""

import logging
from collections.abc import Mapping
from pathlib import Path

from portal.server.base.shared_storage import read_storage
from portal.server.templates.copies import copies_folder_name
from portal.server.templates.source import TemplateSource, fetch, template_sources
from portal.server.templates.templates import install_templates


class Home:
    """Copies templates.

    Args:
        environ: PORTAL_TEMPLATES_DIR and the session's settings, which name the sources.
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
        self.copies_folder_name = copies_folder_name(read_storage(environ))
        self._log = log

    def prepare(self) -> None:
        """Copy them; what is wrong is told in `problems`."""
        # Those of git last: its server may keep this waiting.
        for source in sorted(self.sources, key=lambda source: bool(source.url)):
            self._install(source)

    def _install(self, source: TemplateSource) -> None:
        problem = fetch(source)
        if problem:
            self._log.warning("%s", problem)
            self.problems.append(problem)
            return
        outcome = install_templates(source.path, self.path, source.below)
        self.beside += outcome.beside
        self.problems += outcome.problems
        for note in outcome.notes():
            self._log.info("%s", note)
        for sentence in outcome.problems:
            self._log.warning("%s", sentence)
