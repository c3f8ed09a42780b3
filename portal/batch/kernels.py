"""The kernels of a session by their names, for a job: folders that Jupyter's programs search."""

import json
import logging
import os
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from jupyter_client.kernelspec import KernelSpecManager

from portal.environments.command import (
    IMAGE_VARIABLE,
    KERNEL_PACKAGES_VARIABLE,
    KERNEL_VARIABLE,
    Node,
)
from portal.server.kernels.kernels import describe_kernels

VARIABLE = "JUPYTER_PATH"
_OF_ANY_KERNEL = (IMAGE_VARIABLE, KERNEL_PACKAGES_VARIABLE, "PORTAL_ENVIRONMENT")
_OF_THE_SESSION = ("PATH", "PYTHONPATH")


def offer_kernels(folder: Path, environ: Mapping[str, str], node: Node) -> str:
    """Describe the kernels that are not shipped in `folder`.

    Returns:
        JUPYTER_PATH: the shipped kernels first, which none can replace, then these, then what
        `environ` has.

    Raises:
        OSError: If there is no room in the folder.
    """
    registered, _, places = describe_kernels(folder, node, logging.getLogger(__name__))
    registered.without_packages.refresh()
    registered.offer()
    shipped = Path(sys.prefix) / "share/jupyter"
    others = environ.get(VARIABLE, "").split(os.pathsep)
    folders = [shipped, *(place.parent for place in places), *others]
    # In the order of their first appearance.
    return os.pathsep.join(dict.fromkeys(filter(None, map(str, folders))))


def language_of(notebook: Path) -> str:
    """Return the language of a notebook's kernel, as its kernelspec has it.

    Raises:
        NoSuchKernel: If there is no such kernel here.
    """
    content = json.loads(notebook.read_text(encoding="utf-8"))
    name = content["metadata"]["kernelspec"]["name"]
    return str(KernelSpecManager().get_kernel_spec(name).language)


def forget_kernel(environ: MutableMapping[str, str]) -> None:
    """Remove what a job has from the kernel that submitted it, such as its Keras backend.

    Args:
        environ: Changed; with the JUPYTER_PATH of `offer_kernels`.
    """
    name = environ.pop(KERNEL_VARIABLE, "")
    for folder in environ.get(VARIABLE, "").split(os.pathsep):
        for path in Path(folder).glob("kernels/*/kernel.json"):
            own = json.loads(path.read_text(encoding="utf-8")).get("env") or {}
            if name and name in {path.parent.name, own.get(KERNEL_VARIABLE)}:
                for each in own.keys() - set(_OF_THE_SESSION):
                    environ.pop(each, None)
    for each in _OF_ANY_KERNEL:
        environ.pop(each, None)
