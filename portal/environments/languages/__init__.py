"""Languages of kernels: Python and R, and a folder for each further one."""

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The language of a kernel's cells.

    Attributes:
        name: In the registry.
        program: Its interpreter, unless an environment names another.
        needs: What an environment must have, for the sentence that it lacks it.
        probe: The interpreter's arguments that fail if no kernel can start.
        driver: Module with a `main` that is the kernel, in the server's own Python, and gets the
            interpreter's command behind "--"; empty if the interpreter itself runs the kernel.
    """

    name: str
    program: str
    needs: str
    probe: tuple[str, ...] = ()
    driver: str = ""


PYTHON = Language(name="python", program="python3", needs="ipykernel")
R = Language(name="r", program="R", needs="IRkernel")


@functools.cache
def languages() -> Mapping[str, Language]:
    """Return all languages by name: each package in this folder has a `LANGUAGE`."""
    further = (
        importlib.import_module(f"{__name__}.{found.name}").LANGUAGE
        for found in pkgutil.iter_modules(__path__)
    )
    return {one.name: one for one in (PYTHON, *further, R)}
