"""`portal.launch` and `portal.data`, as `dsportal` and `dsportal.data` were called before.

Notebooks, job files and the tasks of runs that wait in the queue name them. In an environment that
has the new package, the old names lead to its modules, so that there is one of each.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType

_NEW_NAMES = {"portal.launch": "dsportal", "portal.data": "dsportal.data"}
# Releases that still know the old names, 0.1 and 0.2.
_REMOVED_IN = "0.3"
_IMPORTLIB = "importlib."


def give_way(old: str) -> None:
    """Put the new package into the place of the package `old`, which is being imported.

    Nothing happens in a checkout, whose commands and tests use the old names.
    """
    new = _NEW_NAMES[old]
    if not (Path(__file__).parents[1] / new.partition(".")[0]).is_dir():
        return
    if not _is_ours(_importer()):
        warnings.warn(
            f"{old} is now called {new}. Write 'from {new} import ...' and 'import {new}.NAME'. "
            f"The old name works until release {_REMOVED_IN}.",
            FutureWarning,
            stacklevel=3,
        )
    if not any(isinstance(finder, _OldNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, _OldNames())
    sys.modules[old] = import_module(new)


def _importer() -> str:
    """Return the name of the module with the import statement."""
    # Of this function, of give_way and of the package itself.
    frame = sys._getframe(3)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(_IMPORTLIB):
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in {"portal", "notebook_templates"}


def _new_name(name: str) -> str | None:
    for old, new in _NEW_NAMES.items():
        if name.startswith(f"{old}."):
            return new + name.removeprefix(old)
    return None


class _OldNames(MetaPathFinder, Loader):
    """Finds the modules of the old packages among those of the new ones."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        new = _new_name(name)
        found = find_spec(new) if new else None
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None
        return ModuleSpec(name, self, origin=found.origin, is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # Python returns what is in sys.modules after this.
        sys.modules[module.__name__] = import_module(str(_new_name(module.__name__)))

    def get_code(self, name: str) -> CodeType | None:
        """Return the code that `python -m` runs, under the old name too."""
        spec = find_spec(str(_new_name(name)))
        loader = spec.loader if spec is not None else None
        code: CodeType | None = loader.get_code(spec.name) if spec and loader else None  # type: ignore[attr-defined]
        return code
