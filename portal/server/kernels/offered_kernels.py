"""What a session offers beside the kernels that are shipped, and where all of them listen."""

import os
import sys
from logging import Logger
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_data_dir, jupyter_runtime_dir

from portal.environments.probe import probe_node
from portal.environments.registry import site_path
from portal.server.kernels.kernel_sockets import listen_on_sockets, make_connections_dir
from portal.server.kernels.kernels import Kernels
from portal.server.kernels.own_kernels import offer_own_kernels
from portal.server.kernels.without_packages import KernelsWithoutPackages
from portal.server.patches.kernel_handlers import explain_kernel_starts


class OfferedKernels:
    """Kernels of the site's and the user's registries, and the shipped ones without packages.

    Attributes:
        of_registries: Environments and images that are registered.
        folders: Where the kernelspecs are; the shipped ones are elsewhere.
        problems: Why kernels of the user's are not offered, a sentence for each.
        connections_dir: Sockets on which kernels listen; None if this node has no room for them.
    """

    def __init__(self, serverapp: Any, private_dir: Path, log: Logger) -> None:
        self.connections_dir = make_connections_dir(private_dir)
        if self.connections_dir is None:
            log.warning("Kernels listen on ports: this node has no room for sockets.")
        else:
            listen_on_sockets(serverapp.kernel_manager, self.connections_dir)
        shipped = Path(sys.prefix) / "share/jupyter/kernels"
        without_packages = KernelsWithoutPackages(
            private_dir / "without-packages/kernels",
            shipped=shipped,
            home=Path.home(),
            log=log,
        )
        sockets_dir = self.connections_dir or Path(jupyter_runtime_dir())
        explain_kernel_starts(sockets_dir)
        self.of_registries = Kernels(
            private_dir / "environments/kernels",
            site=site_path(),
            home=Path.home(),
            # With the sockets on which kernels reach this server.
            node=probe_node(os.environ, private_dir, sockets_dir),
            without_packages=without_packages,
            log=log,
        )
        own = private_dir / "own/kernels"
        self.problems = offer_own_kernels(
            own, own=Path(jupyter_data_dir()) / "kernels", shipped=shipped, log=log
        )
        self.folders = (without_packages.folder, self.of_registries.folder, own)
        # Appended, so that no environment can replace one of the shipped kernels.
        serverapp.kernel_spec_manager.kernel_dirs.extend(map(str, self.folders))

    def start(self) -> None:
        """Offer them, and follow changes of the registries."""
        self.of_registries.start()

    def stop(self) -> None:
        """Follow no more changes."""
        self.of_registries.stop()
