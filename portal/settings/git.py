"""The table [git] of portal.toml."""

from dataclasses import dataclass

from portal.settings.validators import HOST, each_like
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class GitSettings:
    """Git in sessions."""

    enabled: bool = setting(
        "Whether JupyterLab has a Git panel, git compares notebooks by cells, and passwords for git"
        " servers stay in the session's memory until its end.",
        default=True,
    )
    course_hosts: tuple[str, ...] = setting(
        "Hosts from which links fetch courses by https, with the port if it is not 443. The user is"
        " shown each course and asked first. Empty for no such links.",
        default=("github.com", "gitlab.com"),
        check=each_like(
            rf"(?![^:]*[A-Z]){HOST}(?::\d+)?",
            'must look like "git.example.org" or "git.example.org:8443".',
        ),
    )
