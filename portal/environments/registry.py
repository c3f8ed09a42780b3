"""Reads and edits environments.toml: the site's, and each user's own."""

from __future__ import annotations

import fcntl
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsportal.whole_file import write_whole
from portal.environments.entry import Environment, parse_entry
from portal.environments.errors import RegistryError
from portal.settings.environments import EnvironmentSettings

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

SITE_PATH = EnvironmentSettings.registry
OWN_PATH = Path(".config/data-scientist-portal/environments.toml")
_MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The content of both files.

    Attributes:
        environments: The site's first, in the order of the files.
        problems: A sentence for each wrong entry and each unreadable file.
    """

    environments: tuple[Environment, ...]
    problems: tuple[str, ...]


def site_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the site's file, the session's or the default; it need not exist."""
    # Tables of settings are slow to load, and most commands read none.
    from portal.settings.session_tables import read_settings

    return read_settings(environ).environments.registry


def read_registry(site: Path, home: Path) -> Registry:
    """Read both files; an error in one entry does not affect the others."""
    environments: list[Environment] = []
    problems: list[str] = []
    for path, is_own in ((site, False), (home / OWN_PATH, True)):
        try:
            tables = read_tables(path)
        except RegistryError as error:
            problems.append(error.message)
            continue
        for name, table in tables.items():
            try:
                entry = parse_entry(name, table, where=str(path), is_own=is_own)
            except RegistryError as error:
                problems.append(error.message)
            else:
                environments.append(entry)
    return Registry(environments=tuple(environments), problems=tuple(problems))


def read_tables(path: Path) -> dict[str, Any]:
    """Return the tables of a registry by name, as the TOML parser does; an absent file has none."""
    try:
        with path.open("rb") as file:
            return tomllib.loads(file.read(_MAX_BYTES).decode())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RegistryError(
            f"The environments in {path} cannot be read: {error.strerror}."
        ) from error
    except ValueError as error:
        raise RegistryError(f"{path} is not TOML: {error}.") from error


def check_entry(path: Path, id_: str, table: Mapping[str, Any], *, is_own: bool) -> Environment:
    """Return the environment that adding `table` to a registry would make; add nothing."""
    environment = parse_entry(id_, dict(table), where=str(path), is_own=is_own)
    if id_ in read_tables(path):
        raise RegistryError(
            f"{path} has an environment '{id_}' already. Choose another name, or edit the file."
        )
    return environment


def add_entry(path: Path, id_: str, table: Mapping[str, Any], *, is_own: bool) -> Environment:
    """Append `table` to a registry, which is created if it does not exist."""
    with _changing(path):
        environment = check_entry(path, id_, table, is_own=is_own)
        tables, document = read_tables(path), _document(path)
        document[id_] = dict(table)
        _write(path, document, tables | {id_: dict(table)})
    return environment


def change_entry(path: Path, id_: str, changes: Mapping[str, Any]) -> None:
    """Give keys of an entry the values of `changes`; the rest stays as it is, comments too."""
    with _changing(path):
        tables, document = read_tables(path), _document(path)
        _check_is_there(path, id_, tables)
        tables[id_] |= changes
        parse_entry(id_, tables[id_], where=str(path))
        entry: Any = document[id_]
        for key, value in changes.items():
            if entry.get(key) != value:
                entry[key] = value
        _write(path, document, tables)


def remove_entry(path: Path, id_: str) -> None:
    """Remove an entry from a registry, and the comments inside it; the rest stays as it is."""
    with _changing(path):
        tables, document = read_tables(path), _document(path)
        _check_is_there(path, id_, tables)
        del document[id_], tables[id_]
        _write(path, document, tables)


@contextmanager
def _changing(path: Path) -> Iterator[None]:
    """Keep other processes from changing a registry between our reading and our writing."""
    target = path.resolve()
    # Not the registry itself, which each change replaces by a new file.
    lock = target.with_name(f".{target.name}.lock")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise RegistryError(f"{path} cannot be written: {error.strerror}.") from error
    try:
        # Some file systems have no locks, such as Lustre mounted without flock.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _check_is_there(path: Path, id_: str, tables: Mapping[str, Any]) -> None:
    if id_ not in tables:
        known = ", ".join(tables) or "none"
        raise RegistryError(f"{path} has no environment '{id_}'. There are: {known}.")


def _document(path: Path) -> TOMLDocument:
    """Return a registry with its comments and its order; that of an absent file is empty."""
    # Loaded only for a change: each session and each `dsportal` reads this module as it starts.
    import tomlkit

    return tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()


def _write(path: Path, document: TOMLDocument, tables: Mapping[str, Any]) -> None:
    """Write a registry, if it still says what `tables` do: a mistake must not cost an entry."""
    text = document.as_string()
    if tomllib.loads(text) != tables:
        raise RegistryError(f"{path} cannot be changed as it is written. Edit the file.")
    # The file may be a link into a folder of settings that the user keeps under version control.
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666
        write_whole(target, text.encode(), mode=mode)
    except OSError as error:
        raise RegistryError(f"{path} cannot be written: {error.strerror}.") from error
