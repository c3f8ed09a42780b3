"""What the dialogs ask for, as arguments of `dsportal environments`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from portal.environments.errors import RegistryError
from portal.environments.image import is_source

_SEPARATORS = re.compile(r"[\s,]+")


class Action(Enum):
    """What a task does, and the command that does it."""

    NEW = "new"
    ADD_IMAGE = "add"
    UPDATE = "update"
    REMOVE = "remove"
    SHARE = "share"
    UNSHARE = "unshare"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One task.

    Attributes:
        words: Arguments of `dsportal environments`.
    """

    action: Action
    id: str
    words: tuple[str, ...]

    @property
    def is_added(self) -> bool:
        """Whether the task adds the environment, whose name must be free then."""
        return self.action in {Action.NEW, Action.ADD_IMAGE}


def parse_order(body: Any, root: Path) -> Order:
    """Return the order in the JSON body of a request; nothing is looked up.

    Paths in it are relative to `root`, the root of the file browser, or absolute.
    """
    table = body if isinstance(body, Mapping) else {}
    try:
        action = Action(table.get("action"))
    except ValueError:
        known = ", ".join(action.value for action in Action)
        raise RegistryError(f"Name the action to take, one of: {known}.") from None
    id_ = _text(table, "name")
    if not id_:
        raise RegistryError("Give the environment a short name, such as nlp.")
    builders = {
        Action.NEW: _new,
        Action.ADD_IMAGE: _image,
        Action.UPDATE: _update,
        Action.REMOVE: lambda *_: ["--yes"],
        Action.SHARE: _share,
        Action.UNSHARE: lambda *_: [],
    }
    words = builders[action](table, root)
    return Order(action=action, id=id_, words=(action.value, id_, *words))


def parse_packages(text: str) -> tuple[str, ...]:
    """Return the packages of a text field: one in each line, or with blanks or commas between.

    >>> parse_packages("einops, lightning")
    ('einops', 'lightning')
    >>> parse_packages("keras >=3, <4  # the newest breaks")
    ('keras<4,>=3',)
    """
    found: list[str] = []
    for line in text.splitlines():
        words = line.partition("#")[0] if " @ " not in line else line
        if words.strip():
            found += _packages_in(words.strip())
    return tuple(found)


def _packages_in(line: str) -> Sequence[str]:
    try:
        return [str(Requirement(line))]
    except InvalidRequirement:
        words = [word for word in _SEPARATORS.split(line) if word]
    try:
        return [str(Requirement(word)) for word in words]
    except InvalidRequirement:
        raise RegistryError(
            f"{line!r:.80} names no package. Write one in each line, such as einops or keras<4."
        ) from None


def _new(table: Mapping[str, Any], root: Path) -> list[str]:
    words = list(parse_packages(_text(table, "packages", is_long=True)))
    if requirements := _text(table, "requirements"):
        words += ["--requirements", _path(requirements, root)]
    like, python = _text(table, "like"), _text(table, "python")
    if like and python:
        raise RegistryError(
            f"The environment has the Python of {like}, which it is based on. Leave out the "
            "version, or base it on nothing."
        )
    words += [f"--like={like}"] if like else []
    words += [f"--python={python}"] if python else []
    if folder := _text(table, "folder"):
        words.append(f"--folder={_path(folder, root)}")
        words += ["--share"] if table.get("share") is True else []
    return [*words, *_title(table)]


def _image(table: Mapping[str, Any], root: Path) -> list[str]:
    image = _text(table, "image")
    if not image:
        raise RegistryError(
            "Name the image: docker://REGISTRY/NAME:TAG, or an image file of yours."
        )
    words = [f"--image={image if is_source(image) else _path(image, root)}"]
    if key := _text(table, "key"):
        words.append(f"--registry-key={_path(key, root)}")
    if folder := _text(table, "folder"):
        words.append(f"--into={_path(folder, root)}")
    return [*words, *_title(table)]


def _update(table: Mapping[str, Any], _: Path) -> list[str]:
    return list(parse_packages(_text(table, "packages", is_long=True)))


def _share(table: Mapping[str, Any], _: Path) -> list[str]:
    group = _text(table, "group")
    return [f"--with={group}"] if group else []


def _title(table: Mapping[str, Any]) -> list[str]:
    title = _text(table, "title")
    return [f"--name={title}"] if title else []


def _path(text: str, root: Path) -> str:
    try:
        # An absolute path replaces the root.
        return str(root / Path(text).expanduser())
    except RuntimeError:
        raise RegistryError(
            f"There is no home {text!r:.60}. Give a path that begins with '/' or in your files."
        ) from None


def _text(table: Mapping[str, Any], key: str, *, is_long: bool = False) -> str:
    value = table.get(key, "")
    lines = value.split("\n") if isinstance(value, str) else []
    is_text = lines and all(line.replace("\t", " ").rstrip("\r").isprintable() for line in lines)
    # A short name that begins with a dash would be an option of the command.
    if not is_text or (not is_long and (len(lines) > 1 or value.startswith("-"))):
        raise RegistryError(f"{key} is {value!r:.60}, but must be a line without '-' first.")
    return str(value).strip()
