"""Findings about what users work with on a node: kernels and data of templates, sshd, space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dsportal.amounts import MIB_PER_GIB
from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Finding, warning

# Data that the portal's own templates read, below the folder of the data sets.
DATA = ("mnist/mnist-10k.npz",)
# A session starts with less, min_free_mib of [preflight], but a training soon ends there.
LEAST_FREE_MIB = 1024
_MOST_NAMED = 3
_N_LETTERS = 300


def workplace_question(settings: Settings) -> dict[str, Any]:
    """Return the JSON object that `workplace_probe` reads."""
    storage, environments = settings.storage, settings.environments
    return {
        "server": str(environments.server),
        "registry": str(environments.registry),
        "templates": str(storage.templates),
        "storage": [str(place.path) for place in settings.places],
        "data": list(DATA),
        "data_folders": [
            *([settings.datasets] if settings.datasets else []),
            str(Path(storage.templates).parent / "datasets"),
        ],
    }


def read_left_out(environment: Path) -> frozenset[str]:
    """Return the kernels that the installer was told to leave out.

    `environment` is the hub's, in a folder of its version.
    """
    try:
        text = (environment.resolve().parents[1] / "share/left-out").read_text(encoding="utf-8")
    # On one machine there is no such file.
    except OSError:
        return frozenset()
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))


def assess_workplace(
    found: object, settings: Settings, node: str, *, left_out: frozenset[str] = frozenset()
) -> list[Finding]:
    """Return which faults of a node would stop a user's work.

    `found` is the answer of `workplace_probe`, or anything else: a user's job can print what it
    likes. `left_out` are kernels that the site does without.
    """
    if not isinstance(found, dict):
        said = str(found or "no answer")[:_N_LETTERS]
        return [
            warning(
                f"what templates need and the free space are not known on {node}: {said}.",
                "Run the check again. Look at the file servers of the home and of the templates.",
            )
        ]
    return [
        *_kernels(_table(found.get("lacking")), node, left_out),
        *_data(_table(found.get("data")), settings, node),
        *_shell(found.get("missing_shell"), node),
        *_sshd(found.get("has_sshd"), settings, node),
        *_space(_table(found.get("free_mib")), node),
    ]


def describe_space(found: object) -> str:
    """Return the free space, such as "/home/ada has 12.0 GiB free, /srv/isilon 900.5".

    `found` is the answer of `workplace_probe`.

    Returns:
        Empty if it is unknown.
    """
    free = _table(_table(found).get("free_mib")).items()
    known = [(str(one)[:_N_LETTERS], mib / MIB_PER_GIB) for one, mib in free if _is_number(mib)]
    words = [f"{folder} has {gib:.1f} GiB free" for folder, gib in known[:1]]
    return ", ".join([*words, *(f"{folder} {gib:.1f}" for folder, gib in known[1:])])


def _kernels(found: Mapping[str, Any], node: str, not_missed: frozenset[str]) -> Iterator[Finding]:
    for kernel, names in found.items():
        # A user's job printed this, so any value may have any type.
        if kernel in not_missed or not isinstance(names, list) or not names:
            continue
        named = ", ".join(str(name)[:60] for name in names[:_MOST_NAMED])
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield warning(
            f"templates need the kernel {kernel[:60]}, which sessions on {node} lack: {named}"
            f"{more}.",
            "Build the environment of that name again: deploy/site/install, or deploy/up.",
        )


def _data(found: Mapping[str, Any], settings: Settings, node: str) -> Iterator[Finding]:
    for name, said in found.items():
        if said:
            yield warning(
                f"templates read {name[:60]}, which cannot be read on {node}:"
                f" {str(said)[:_N_LETTERS]}.",
                "deploy/site/install brings it beside the templates. Or put it below"
                f" {settings.datasets or 'the folder that datasets in [storage] names'}.",
            )


def _shell(missing: object, node: str) -> Iterator[Finding]:
    if missing:
        yield warning(
            f"{node} does not have the user's login shell, {str(missing)[:_N_LETTERS]}: terminals"
            " there have bash.",
            "Install it on the compute nodes.",
        )


def _sshd(has_sshd: object, settings: Settings, node: str) -> Iterator[Finding]:
    # A node that says nothing about it runs the program of an earlier release.
    if has_sshd is False and settings.ssh.limit:
        yield warning(
            f"users may connect editors over ssh, but {node} has no sshd.",
            "Install Debian's openssh-server on the compute nodes (its daemon need not run), or set"
            " limit = 0 in [ssh].",
        )


def _space(found: Mapping[str, Any], node: str) -> Iterator[Finding]:
    for folder, free_mib in found.items():
        if _is_number(free_mib) and free_mib < LEAST_FREE_MIB:
            yield warning(
                f"{folder[:_N_LETTERS]} on {node} has {free_mib} MiB free, less than"
                f" {LEAST_FREE_MIB}: checkpoints will soon fill it.",
                "Free space there, or enlarge it.",
            )


def _is_number(value: object) -> bool:
    # JSON's true is an int in Python.
    return isinstance(value, int) and not isinstance(value, bool)


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
