"""What a link to a course may name: a repository, a branch, a folder and what to open in it."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote, urlsplit

from dsportal.slurm.errors import OptionsError

_MOST_CHARS = 1000
# A stricter form of git-check-ref-format(1).
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+#-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+#-]*)*", re.ASCII)
# Not hidden, as ~/.ssh is, and no option.
_NAME = re.compile(r"[^\W_][\w .+-]*|_[\w .+-]*")
_PAGES = frozenset({"lab", "tree", "notebooks", "doc", "nbclassic"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseLink:
    """A course that somebody's link names.

    Attributes:
        branch: Empty for the repository's own default.
        folder: Where it goes, from the file browser's root.
        opened: Path of the page that is shown afterwards, below the notebook server's.
    """

    repository: str
    branch: str
    folder: str
    opened: str


def read_link(query: Mapping[str, str], hosts: Collection[str]) -> CourseLink:
    """Return the course that a link's query names.

    Args:
        query: What a link of nbgitpuller says: `repo`, `branch`, `targetpath`, `urlpath` or
            `subpath`.
        hosts: Where repositories may be, with the port if it is not 443.

    Source:
        nbgitpuller 1.3, "URL options".
    """
    if any(len(value) > _MOST_CHARS or not value.isprintable() for value in query.values()):
        raise OptionsError(
            f"The link has a value of more than {_MOST_CHARS} characters, or one that cannot be"
            " shown. Ask its author for another one."
        )
    repository = _repository(query.get("repo", ""), hosts)
    branch = query.get("branch", "")
    if branch and (not _BRANCH.fullmatch(branch) or ".." in branch or branch.endswith(".lock")):
        raise OptionsError(f"{branch!r} is no name of a branch. Name one, or none for the default.")
    name = PurePosixPath(urlsplit(repository).path).name.removesuffix(".git")
    folder = _folder(query.get("targetpath") or query.get("targetPath") or name)
    opened = query.get("urlpath") or query.get("urlPath") or ""
    below = query.get("subpath") or query.get("subPath") or ""
    return CourseLink(
        repository=repository,
        branch=branch,
        folder=str(folder),
        opened=_page(opened or f"lab/tree/{folder / below.lstrip('/')}"),
    )


def _repository(url: str, hosts: Collection[str]) -> str:
    allowed = f"Courses come from {', '.join(hosts)}; your administrators name the hosts."
    try:
        parts = urlsplit(url)
        host = parts.netloc.lower().removesuffix(":443")
    except ValueError:
        raise OptionsError(f"{url!r} is no address. {allowed}") from None
    if parts.scheme != "https" or parts.query or parts.fragment:
        raise OptionsError(f"{url!r} is not the https address of a repository. {allowed}")
    # Also refuses a name or a password before the host.
    if host not in hosts:
        raise OptionsError(f"A course from {parts.netloc!r} was asked for. {allowed}")
    names = parts.path.strip("/").split("/")
    if not all(_is_name(name) for name in names):
        raise OptionsError(f"{url!r} names no repository. Its address ends with its name.")
    return f"https://{host}/{'/'.join(names)}"


def _folder(text: str) -> PurePosixPath:
    names = text.strip("/").split("/")
    if text.startswith("/") or not all(_is_name(name) for name in names):
        raise OptionsError(
            f"The folder {text!r} was asked for. A course goes into a folder of your home whose"
            " name is not hidden, such as 'work/course'."
        )
    return PurePosixPath(*names)


def _page(text: str) -> str:
    names = [name for name in text.split("?")[0].split("/") if name]
    if not names or names[0] not in _PAGES or ".." in names or "\\" in text:
        raise OptionsError(
            f"The page {text!r} was asked for. A link opens a page such as 'lab/tree/course'."
        )
    return quote("/".join(names))


def _is_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text))
