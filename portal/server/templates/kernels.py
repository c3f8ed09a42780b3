"""Chooses the kernel for a template by the packages that it declares.

A notebook declares them in its metadata, `{"portal": {"packages": ["keras>=3", "tensorflow"]}}`, by
the names under which they are distributed, and with `"optional": true` that few sites have its
kernel. The kernel that the notebook was written for is taken if it has them, else any other that
has, such as one of a site's own environments.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

# Builds of one package under other names, which contain the same modules.
_OTHER_BUILDS: Mapping[str, frozenset[str]] = {
    "onnxruntime": frozenset({"onnxruntime-gpu", "onnxruntime-training"}),
    "tensorflow": frozenset(
        {"intel-tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-rocm", "tf-nightly"}
    ),
}
# Older templates name the portal's own package, which every Python kernel of a session sees.
_IN_EVERY_KERNEL = frozenset({"dsportal"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedKernel:
    """A kernel of the session.

    Attributes:
        program: The first word of its command.
        language: As in its kernelspec: "python" or "R".
        packages: Versions by canonical name; None if not known.
    """

    program: Path
    language: str = "python"
    packages: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """The requirements of a notebook on its kernel.

    Attributes:
        kernel: Name of the kernel that it was written for, or "" for any.
        packages: Requirements on distributions; None if it declares none.
        is_optional: Few sites have its kernel, so nobody misses it.
    """

    kernel: str = ""
    language: str = "python"
    packages: tuple[Requirement, ...] | None = None
    is_optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The kernel for a notebook, or why there is none.

    Attributes:
        kernel: Its name, or "" if none has what is needed.
        lacks: What the nearest kernel lacks, in a few words; "" with a kernel.
    """

    kernel: str = ""
    lacks: str = ""
    advice: str = ""


def read_needs(notebook: Mapping[str, Any]) -> Needs:
    """Read the requirements in the metadata of `notebook`; malformed parts count as absent."""
    metadata = _table(notebook, "metadata")
    kernelspec = _table(metadata, "kernelspec")
    portal = _table(metadata, "portal")
    declared = portal.get("packages")
    return Needs(
        kernel=str(kernelspec.get("name", "")),
        language=str(kernelspec.get("language", "python")),
        packages=tuple(_requirements(declared)) if isinstance(declared, list) else None,
        is_optional=portal.get("optional") is True,
    )


def parse_packages(names: Iterable[str]) -> dict[str, str]:
    """Return versions by canonical name, from NAME==VERSION or NAME; "" for no version."""
    pairs = (name.partition("==") for name in names)
    return {canonicalize_name(name): version for name, _, version in pairs}


def packages_beside(program: Path) -> dict[str, str] | None:
    """Return the packages in the environment of an interpreter, without starting it.

    Args:
        program: Such as /opt/environment/bin/python.

    Returns:
        Versions by canonical name; None if there is no environment around it.

    Source:
        https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    """
    folders = list(program.parent.parent.glob("lib/python3*/site-packages"))
    # A launcher such as apptainer: the packages are elsewhere.
    if program.parent.name != "bin" or not folders:
        return None
    # Only folder names: metadata would mean hundreds of files on a network file system.
    found = (path.stem.rpartition("-") for folder in folders for path in folder.glob("*.dist-info"))
    return {canonicalize_name(name): version for name, _, version in found}


def match_kernel(needs: Needs, kernels: Mapping[str, OfferedKernel]) -> Match:
    """Choose the kernel for a notebook.

    Args:
        needs: From `read_needs`.
        kernels: The session's kernels by name, preferred ones first.

    Returns:
        The kernel that the notebook names, if it has everything or its packages are not known; else
        the first other one that has everything; else what the nearest one lacks.
    """
    named = kernels.get(needs.kernel)
    # What is not known cannot be judged: try the kernel that the notebook names.
    if not needs.kernel or (named and (needs.packages is None or named.packages is None)):
        return Match(kernel=needs.kernel)
    if needs.packages is None:
        return _no_kernel_of_the_name(needs.kernel)
    lacks = {
        name: _lacks(needs.packages, kernel.packages)
        for name, kernel in kernels.items()
        if kernel.packages is not None and kernel.language.lower() == needs.language.lower()
    }
    # Of those that lack equally little, the one that the notebook was written for.
    names = sorted(lacks, key=lambda name: (len(lacks[name]), name != needs.kernel))
    if not names:
        return _no_kernel_of_the_name(needs.kernel)
    nearest = names[0]
    if not lacks[nearest]:
        return Match(kernel=nearest)
    return _nearest(nearest, lacks[nearest])


def _no_kernel_of_the_name(kernel: str) -> Match:
    return Match(
        lacks=f"the kernel {kernel}",
        advice=f"This session has no kernel {kernel}. Ask your administrators for it, or choose "
        "another kernel when the notebook opens.",
    )


def _nearest(kernel: str, lacks: tuple[str, ...]) -> Match:
    names = ", ".join(lacks)
    return Match(
        lacks=names,
        advice="No kernel of this session has everything that this template needs. The nearest, "
        f"{kernel}, lacks {names}. Install that in its environment, or add an environment that has "
        f"all: dsportal environments add NAME --virtualenv FOLDER.",
    )


def _lacks(needed: Iterable[Requirement], present: Mapping[str, str]) -> tuple[str, ...]:
    named = (one for one in needed if canonicalize_name(one.name) not in _IN_EVERY_KERNEL)
    return tuple(str(one) for one in named if not _has(present, one))


def _has(present: Mapping[str, str], needed: Requirement) -> bool:
    name = canonicalize_name(needed.name)
    builds = ({name} | _OTHER_BUILDS.get(name, frozenset())) & present.keys()
    versions = [present[build] for build in builds]
    # Nightly builds and vendors' images have versions that sort before a release.
    return any(
        not version or needed.specifier.contains(version, prereleases=True) for version in versions
    )


def _requirements(declared: list[Any]) -> Iterable[Requirement]:
    for text in declared:
        try:
            yield Requirement(str(text))
        except InvalidRequirement:
            # A malformed requirement would hide the notebook; its author sees the kernel's own
            # error.
            continue


def _table(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, Mapping) else {}
