"""Offers a user's own kernels that have the name of a shipped one, under another name.

`python -m ipykernel install --user` calls every kernel python3. Such a one never takes the place of
the portal's, see `spawner.node.session_server`; here it gets a name of its own.
"""

import json
import shutil
from logging import Logger
from pathlib import Path
from typing import Any

_ENDING = "-yours"
_SPEC = "kernel.json"
_LOGOS = ("logo-32x32.png", "logo-64x64.png", "logo-svg.svg")


def offer_own_kernels(folder: Path, *, own: Path, shipped: Path, log: Logger) -> list[str]:
    """Write kernelspecs for the user's kernels whose names are taken.

    Args:
        own: The user's folder of kernelspecs, which may hold anything.

    Returns:
        A sentence for each that is left out, with the reason.
    """
    problems = []
    for taken in sorted(shipped.glob(f"*/{_SPEC}")):
        source = own / taken.parent.name
        try:
            spec = json.loads((source / _SPEC).read_text(encoding="utf-8"))
            if reason := _fault_of(spec):
                problems.append(
                    f"Your own kernel {source.name} is not offered: {reason}. If you no longer need"
                    f" it: rm -r {source}"
                )
                continue
            _write(folder / f"{source.name}{_ENDING}", source, spec)
        # Most users have none.
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            log.warning("The kernel in %s is not offered: %s", source, error)
    return problems


def _fault_of(spec: Any) -> str:
    argv = spec.get("argv") if isinstance(spec, dict) else None
    if not isinstance(argv, list) or not argv or not isinstance(argv[0], str):
        return f"its {_SPEC} names no program"
    return "" if shutil.which(argv[0]) else f"its program, {argv[0]}, is not there"


def _write(folder: Path, source: Path, spec: dict[str, Any]) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for logo in _LOGOS:
        if (source / logo).is_file():
            shutil.copy(source / logo, folder / logo)
    named = {**spec, "display_name": f"{spec.get('display_name', source.name)} (yours)"}
    (folder / _SPEC).write_text(json.dumps(named), encoding="utf-8")
