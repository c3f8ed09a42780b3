"""One entry of environments.toml as a typed value."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from portal.environments.errors import RegistryError
from portal.environments.languages import LANGUAGES, PYTHON, Language

# What Jupyter accepts in the name of a kernel.
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}", re.ASCII)
# No dash in front: `module load` would take it for an option.
_MODULE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/@=-]{0,120}", re.ASCII)
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}(==[\w.+!-]{1,60})?", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_MAX_NAME_CHARS = 80


class Kind(Enum):
    """What an environment is made of; the value is the registry's key for its location."""

    VIRTUALENV = "virtualenv"
    CONDA = "conda"
    MODULES = "modules"
    IMAGE = "image"
    INTERPRETER = "interpreter"


_COMMON_KEYS = (
    "name",
    "language",
    "program",
    "logo",
    "binds",
    "variables",
    "packages",
    "kernel_packages",
)
KEYS = (*(kind.value for kind in Kind), *_COMMON_KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """An entry of the registry.

    Attributes:
        id: Its name in the registry, from which the kernel's own is made.
        path: The virtual or conda environment, the image, or the interpreter; None for modules.
        program: Name or path of the interpreter inside it.
        logo: PNG or SVG file for the launcher, or None for the language's own.
        binds: Further folders that are mounted into an image.
        packages: What was installed in it when it was added, as NAME==VERSION; None if not known.
        kernel_packages: Folder with the ipykernel that an image lacks, or None.
        is_own: Whether the user added it, not the site.
    """

    id: str
    name: str
    kind: Kind
    path: Path | None = None
    modules: tuple[str, ...] = ()
    language: Language = PYTHON
    program: str = "python3"
    logo: Path | None = None
    binds: tuple[Path, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] | None = None
    kernel_packages: Path | None = None
    is_own: bool = False

    @property
    def kernel_name(self) -> str:
        """Name of its kernel; the prefix keeps a user's from hiding one of the site's."""
        return f"own-{self.id}" if self.is_own else f"site-{self.id}"


def parse_entry(id_: str, table: object, *, where: str, is_own: bool = False) -> Environment:
    """Return the environment that a table of the registry describes; it is not tried.

    The `table` is as the TOML parser returns it; `where` names the file in error messages.
    """
    place = f"[{id_}] of {where}"
    if not _ID.fullmatch(id_):
        raise RegistryError(
            f"{place} is not a valid name. Use small letters, digits, '.', '_' and '-', at most 61."
        )
    if not isinstance(table, Mapping):
        raise RegistryError(f"{place} must be a table, with its keys on the lines below it.")
    if unknown := sorted(set(table) - set(KEYS)):
        raise RegistryError(f"Unknown key '{unknown[0]}' in {place}. Keys: {', '.join(KEYS)}.")
    kinds = [kind for kind in Kind if kind.value in table]
    if len(kinds) != 1:
        raise RegistryError(
            f"{place} has {len(kinds)} of the keys {', '.join(kind.value for kind in Kind)}. "
            "Give the one that says where the environment is."
        )
    (kind,) = kinds
    language = _language(table.get("language", "python"), place)
    return Environment(
        id=id_,
        name=_text(table.get("name", id_), "name", place)[:_MAX_NAME_CHARS],
        kind=kind,
        path=None if kind is Kind.MODULES else _path(table[kind.value], kind.value, place),
        modules=_modules(table["modules"], place) if kind is Kind.MODULES else (),
        language=language,
        program=_text(table.get("program", language.program), "program", place),
        logo=_optional_path(table, "logo", place),
        binds=tuple(_path(b, "binds", place) for b in _list(table.get("binds", []), place)),
        variables=_variables(table.get("variables", {}), place),
        packages=_packages(table["packages"], place) if "packages" in table else None,
        kernel_packages=_optional_path(table, "kernel_packages", place),
        is_own=is_own,
    )


def _language(value: object, place: str) -> Language:
    if not isinstance(value, str) or value not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise RegistryError(f"language in {place} is {value!r:.60}. There are: {known}.")
    return LANGUAGES[value]


def _text(value: object, key: str, place: str) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise RegistryError(f"{key} in {place} is {value!r:.60}, but must be a line of text.")
    return value


def _path(value: object, key: str, place: str) -> Path:
    path = Path(_text(value, key, place)).expanduser()
    # A bind is written source:target:options, and several with commas between.
    if not path.is_absolute() or ":" in str(path) or "," in str(path):
        raise RegistryError(
            f"{key} in {place} is {value!r:.60}, but must be an absolute path without ':' and ','."
        )
    return path


def _optional_path(table: Mapping[str, Any], key: str, place: str) -> Path | None:
    return _path(table[key], key, place) if key in table else None


def _list(value: object, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise RegistryError(f"{place} has {value!r:.60} where a list belongs.")
    return value


def _modules(value: object, place: str) -> tuple[str, ...]:
    modules = _list(value, place)
    if not modules:
        raise RegistryError(f"modules in {place} is empty. Name the modules to load.")
    for module in modules:
        if not isinstance(module, str) or not _MODULE.fullmatch(module):
            raise RegistryError(f"modules in {place} holds {module!r:.60}, which names no module.")
    return tuple(modules)


def _packages(value: object, place: str) -> tuple[str, ...]:
    packages = _list(value, place)
    for package in packages:
        if not isinstance(package, str) or not _PACKAGE.fullmatch(package):
            raise RegistryError(
                f"packages in {place} holds {package!r:.60}, but must hold texts such as "
                "'numpy==2.4.1' or 'numpy'."
            )
    return tuple(packages)


def _variables(value: object, place: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise RegistryError(f"variables in {place} must be a table of texts.")
    for name, text in value.items():
        if not _VARIABLE.fullmatch(name) or not isinstance(text, str) or "\0" in text:
            raise RegistryError(f"variables in {place} holds {name!r:.60}, which cannot be set.")
    return dict(value)
