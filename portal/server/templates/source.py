"""Sources of templates: the portal's own, and those in the site's settings."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from portal.settings.session_tables import read_settings

OWN_VARIABLE = "PORTAL_TEMPLATES_DIR"
CLONE_TIMEOUT_S = 120
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSource:
    """A folder of templates.

    Attributes:
        below: Folder in the user's templates that it is copied to, or "" for their top.
        url: Git repository that is cloned to `path` first, or "".
    """

    path: Path
    below: str
    url: str = ""


def template_sources(environ: Mapping[str, str], clones_dir: Path) -> tuple[TemplateSource, ...]:
    """Return all sources, the portal's own first.

    Args:
        environ: PORTAL_TEMPLATES_DIR, and `site_templates` of the session's settings: folders and
            git repositories.
        clones_dir: Parent of the clones.

    Returns:
        Without those whose last part is no plain name.
    """
    sources = []
    if own := environ.get(OWN_VARIABLE):
        sources.append(TemplateSource(path=Path(own), below=""))
    for place in read_settings(environ).storage.site_templates:
        # Also the last part of git@host:name.git.
        name = re.split(r"[/:]", place.rstrip("/"))[-1].removesuffix(".git")
        if not _NAME.fullmatch(name):
            continue
        is_folder = place.startswith("/") and not place.endswith(".git")
        path = Path(place) if is_folder else clones_dir / name
        sources.append(TemplateSource(path=path, below=name, url="" if is_folder else place))
    return tuple(sources)


def fetch(source: TemplateSource) -> str:
    """Clone a source that is a git repository, unless that was done in this session.

    Returns:
        A sentence about what is wrong, or "".

    Source:
        git-clone(1); git-config(1), core.hooksPath; git(1), GIT_ALLOW_PROTOCOL.
    """
    if not source.url or source.path.is_dir():
        return ""
    environ = os.environ | {
        # Nobody is there to answer: git must fail instead of asking for a password.
        "GIT_TERMINAL_PROMPT": "0",
        # Without ext, with which a URL can run a command.
        "GIT_ALLOW_PROTOCOL": "file:https:ssh",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    }
    # Only the newest files are copied, so no history is fetched.
    options = ["--quiet", "--depth=1", "--single-branch", "--no-tags"]
    # The repository is somebody else's: nothing that it brings may run.
    argv = ["git", "-c", "core.hooksPath=/dev/null", "clone", *options]
    try:
        done = subprocess.run(
            [*argv, "--", source.url, str(source.path)],
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CLONE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return _sentence(source, str(error))
    if done.returncode == 0:
        return ""
    return _sentence(source, done.stderr.decode("utf-8", "replace").strip()[-300:])


def _sentence(source: TemplateSource, reason: str) -> str:
    return (
        f"The site's templates in {source.url} could not be fetched ({reason}). "
        "Those of the last session stay as they are."
    )
