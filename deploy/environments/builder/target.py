"""A target that can be built, and whether it has to be."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from deploy.common.errors import DeployError
from deploy.environments.builder.plan import Plan

CODE_DIR = Path(__file__).resolve().parent
# Programs that run in the environments, apart from the modules so that no name hides a package.
PROGRAMS_DIR = CODE_DIR.parent / "programs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One target of the builder.

    Args:
        summary: What building it does, as a line of progress.
        build: Builds it; its second argument is the open log.
        made_from: Files, folders and texts that the result depends on.
        results: Paths that exist once it is built.
        needs: Targets that must have been built before it.
        after: Targets that go first if the same run builds them.
        code: Modules of the builder that decide what the result looks like.
    """

    name: str
    summary: str
    build: Callable[[Plan, IO[str]], None]
    made_from: Callable[[Plan], Iterable[Path | str]]
    results: Callable[[Plan], Iterable[Path]]
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    code: tuple[str, ...] = ()


def fingerprint(target: Target, plan: Plan) -> str:
    """Return a hash of everything that a target is built from, 64 hexadecimal digits."""
    # A rebuilt target outdates those that need it.
    needed = (read_stamp(name, plan) or "" for name in target.needs)
    code = (CODE_DIR / f"{module}.py" for module in target.code)
    digest = hashlib.sha256()
    for part in (*target.made_from(plan), *needed, *code):
        digest.update(part.encode() if isinstance(part, str) else _hash_of_path(part))
        # A separator: text that moves from one part to the next must change the hash.
        digest.update(b"\0")
    return digest.hexdigest()


def _hash_of_path(path: Path) -> bytes:
    if not path.is_dir():
        # Some need not exist, such as the site's own list of packages.
        return path.read_bytes() if path.exists() else b""
    digest = hashlib.sha256()
    for file in source_files(path):
        digest.update(str(file.relative_to(path)).encode() + b"\0" + file.read_bytes())
    return digest.digest()


def source_files(folder: Path) -> list[Path]:
    """Return the source files under a folder in a fixed order.

    Returns:
        Nothing of caches, hidden folders or installed node modules.
    """
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(file for file in files if not _is_by_product(file.relative_to(folder)))


def _is_by_product(path: Path) -> bool:
    return any(part in {"__pycache__", "node_modules"} or part[0] == "." for part in path.parts)


def read_stamp(name: str, plan: Plan) -> str | None:
    """Return the fingerprint of a target's last complete build, or None."""
    try:
        return (plan.stamps_dir / name).read_text().strip()
    except FileNotFoundError:
        return None


def is_current(target: Target, plan: Plan) -> bool:
    """Return whether a target exists and nothing that it is built from has changed."""
    there = all(path.exists() for path in target.results(plan))
    return there and read_stamp(target.name, plan) == fingerprint(target, plan)


def make(target: Target, plan: Plan, log: IO[str]) -> None:
    """Build a target and record what it was built from; one that fails is outdated."""
    stamp = plan.stamps_dir / target.name
    # A build that is killed must not leave the stamp of the earlier one.
    stamp.unlink(missing_ok=True)
    # Before the build: a source that changes meanwhile makes the result outdated, not current.
    built_from = fingerprint(target, plan)
    target.build(plan, log)
    if lacking := [str(path) for path in target.results(plan) if not path.exists()]:
        raise DeployError(
            f"Every step succeeded, and there is no {', '.join(lacking)}.",
            "See whether the packages that this target takes have it in this release.",
        )
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(built_from + "\n")
