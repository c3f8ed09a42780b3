"""What a session offers beside the kernels that are shipped, and where all of them listen."""

import os
from logging import Logger
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_runtime_dir

from portal.environments.probe import probe_node
from portal.server.kernels.kernel_sockets import listen_on_sockets, make_connections_dir
from portal.server.kernels.kernels import describe_kernels
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
        sockets_dir = self.connections_dir or Path(jupyter_runtime_dir())
        explain_kernel_starts(sockets_dir)
        # With the sockets on which kernels reach this server.
        node = probe_node(os.environ, private_dir, sockets_dir)
        self.of_registries, self.problems, self.folders = describe_kernels(private_dir, node, log)
        # Appended, so that no environment can replace one of the shipped kernels.
        serverapp.kernel_spec_manager.kernel_dirs.extend(map(str, self.folders))

    def start(self) -> None:
        """Offer them, and follow changes of the registries."""
        self.of_registries.start()

    def stop(self) -> None:
        """Follow no more changes."""
        self.of_registries.stop()
