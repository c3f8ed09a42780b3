"""Runs uv, with the package indexes that pip is set up for."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from portal.environments.errors import RegistryError

# pip's own order: the later one wins.
_SCOPES = ("global", "install", ":env:")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageIndexes:
    """Where uv takes packages from.

    Attributes:
        options: For the commands of `uv pip`.
        variables: Addresses, which can hold a password, that everybody could read in a command.
    """

    options: tuple[str, ...] = ()
    variables: Mapping[str, str]


def find_uv(prefix: Path) -> Path:
    """Return uv: the portal's, beside the environment `prefix`, else the first on the PATH."""
    shipped = prefix.parent / "uv/bin/uv"
    found = shipped if os.access(shipped, os.X_OK) else shutil.which("uv")
    if not found:
        raise RegistryError(
            f"Environments are made by uv, which is neither {shipped} nor on your PATH. Run this "
            "in a terminal of a session of the portal."
        )
    return Path(found)


def read_package_indexes() -> PackageIndexes:
    """Ask pip where it takes packages from: its variables, and the pip.conf of user and site."""
    argv = [sys.executable, "-P", "-m", "pip", "config", "list"]
    done = subprocess.run(argv, cwd="/", capture_output=True, text=True, check=False)
    return parse_pip_config(done.stdout)


def parse_pip_config(printed: str) -> PackageIndexes:
    """Return pip's indexes for uv, from what `pip config list` prints.

    >>> parse_pip_config("global.find-links='/srv/wheels'").options
    ('--find-links', '/srv/wheels')
    """
    scopes: dict[str, dict[str, str]] = {scope: {} for scope in _SCOPES}
    for line in printed.splitlines():
        name, _, value = line.partition("=")
        scope, _, key = name.rpartition(".")
        if scope in scopes:
            scopes[scope][key] = str(ast.literal_eval(value))
    chosen = {key: value for scope in _SCOPES for key, value in scopes[scope].items()}
    folders = (w for f in chosen.get("find-links", "").split() for w in ("--find-links", f))
    has_no_index = chosen.get("no-index", "").lower() in {"1", "true", "yes", "on"}
    named = {
        "UV_DEFAULT_INDEX": chosen.get("index-url", ""),
        "UV_INDEX": " ".join(chosen.get("extra-index-url", "").split()),
        "UV_INSECURE_HOST": " ".join(chosen.get("trusted-host", "").split()),
        "SSL_CERT_FILE": chosen.get("cert", ""),
    }
    return PackageIndexes(
        options=(*(("--no-index",) if has_no_index else ()), *folders),
        # As pip does: the best version of all indexes.
        variables={"UV_INDEX_STRATEGY": "unsafe-best-match"}
        | {name: value for name, value in named.items() if value},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Uv:
    """uv, and where it takes packages from."""

    program: Path
    indexes: PackageIndexes

    def run(self, *words: str | Path, problem: str) -> None:
        """Run it with its progress on the terminal.

        If it fails, `problem` is what to say below what uv itself said.
        """
        # A uv.toml or pyproject.toml in the current folder may be somebody else's.
        environ = {**self.indexes.variables, **os.environ, "UV_NO_CONFIG": "1"}
        done = subprocess.run(
            [self.program, *words],
            cwd="/",
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode != 0:
            raise RegistryError(problem)


def uv_here() -> Uv:
    """Return the uv of this environment, with the indexes that pip has here."""
    return Uv(program=find_uv(Path(sys.prefix)), indexes=read_package_indexes())
