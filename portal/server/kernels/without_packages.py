"""Offers each shipped kernel a second time, without the user's own packages, once there are any."""

import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsportal.packages.overlay import find_overlay
from dsportal.packages.start import SWITCH

_ENDING = "-without-packages"
# Where R installs packages unless its user says otherwise, for each platform and version.
_R_PACKAGES = "R/*-library/*/*/DESCRIPTION"


class KernelsWithoutPackages:
    """Keeps a folder of kernelspecs in line with what the user has installed.

    Args:
        folder: For the kernelspecs; one of the folders that the notebook server searches.
        shipped: Kernelspecs of the portal, or a folder that does not exist.
    """

    def __init__(self, folder: Path, *, shipped: Path, home: Path, log: logging.Logger) -> None:
        self.folder = folder
        self._shipped = shipped
        self._home = home
        self._log = log
        self._offered: frozenset[str] = frozenset()

    def refresh(self) -> None:
        """Offer the kernels for which the user has packages, and withdraw the others."""
        try:
            specs = self._specs()
            wanted = frozenset(name for name, spec in specs.items() if self._is_used(name, spec))
            if wanted != self._offered:
                self._write({name: specs[name] for name in wanted})
                self._offered = wanted
        except (OSError, ValueError) as error:
            self._log.warning("Kernels without the user's packages cannot be offered: %s", error)

    def _specs(self) -> dict[str, dict[str, Any]]:
        paths = sorted(self._shipped.glob("*/kernel.json"))
        return {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}

    def _is_used(self, name: str, spec: Mapping[str, Any]) -> bool:
        if spec.get("language") == "R":
            return any(self._home.glob(_R_PACKAGES))
        release = spec.get("metadata", {}).get("packages_release")
        return bool(release) and not find_overlay(self._home, name, release).is_empty()

    def _write(self, specs: Mapping[str, Mapping[str, Any]]) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, spec in specs.items():
            # With its logos.
            copy = shutil.copytree(self._shipped / name, self.folder / f"{name}{_ENDING}")
            text = json.dumps(without_packages(spec), indent=1)
            (copy / "kernel.json").write_text(text, encoding="utf-8")


def without_packages(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kernel.json `spec`, changed to start the kernel without the user's packages."""
    return {
        **spec,
        "display_name": f"{spec['display_name']} (without your packages)",
        "env": {**spec.get("env", {}), SWITCH: "off"},
    }
