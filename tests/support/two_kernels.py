"""A kernel whose variables are saved, and another one that restores them, as when it moves."""

import ast
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client import BlockingKernelClient, KernelManager

from tests.support.checkout import CHECKOUT

START = CHECKOUT / "portal/dsportal/dsportal/start/kernel.py"
TIMEOUT_S = 300
_MODULE = "__import__('sys').modules['dsportal_start.variables']"


class Kernel:
    """A kernel as sessions start it."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self._client = client
        self.has_failed = False

    def run(self, code: str, *, is_cell: bool = True) -> str:
        """Run a cell and return what it shows."""
        shown: list[str] = []

        def take(message: dict[str, Any]) -> None:
            content = message["content"]
            shown.append(content.get("text") or content.get("data", {}).get("text/plain", ""))
            shown.append("\n".join(content.get("traceback", [])))

        reply = self._client.execute_interactive(
            code, output_hook=take, store_history=is_cell, timeout=TIMEOUT_S
        )
        self.has_failed = reply["content"]["status"] != "ok"
        return "".join(shown)

    def save(self, folder: Path) -> dict[str, Any]:
        """Save its variables, and return what the server is told."""
        return self._ask(f"save(get_ipython(), {str(folder)!r}, 10**11, 600)")

    def restore(self, folder: Path) -> dict[str, Any]:
        """Restore variables, and return what the server is told."""
        return self._ask(f"restore(get_ipython(), {str(folder)!r})")

    def _ask(self, call: str) -> dict[str, Any]:
        printed = self.run(f"print({_MODULE}.{call})", is_cell=False)
        return dict(ast.literal_eval(printed.splitlines()[-1]))


@contextmanager
def started(
    python: str, working_dir: Path, environ: Mapping[str, str] | None = None
) -> Iterator[Kernel]:
    """Start a kernel of a Python with more in its environment, and end it."""
    manager = KernelManager()
    assert manager.kernel_spec is not None
    manager.kernel_spec.argv[:] = [python, str(START), "-f", "{connection_file}"]
    manager.start_kernel(cwd=str(working_dir), env={**os.environ, **(environ or {})})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(TIMEOUT_S)
        yield Kernel(client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
