"""Which notebook a kernel belongs to."""

import asyncio
from typing import Any

from portal.server.base.open_notebooks import notebook_of, notebooks_by_kernel


class Sessions:
    """Stands for Jupyter's session manager."""

    async def list_sessions(self) -> list[dict[str, Any]]:
        paths = ("work/a.ipynb", "console-1")
        return [{"path": path, "kernel": {"id": "k1"}} for path in paths]


def test_a_kernel_with_a_console_belongs_to_its_notebook() -> None:
    assert asyncio.run(notebook_of(Sessions(), "k1")) == "work/a.ipynb"
    assert asyncio.run(notebooks_by_kernel(Sessions())) == {"k1": "work/a.ipynb"}


def test_a_kernel_without_a_document_has_none() -> None:
    assert asyncio.run(notebook_of(Sessions(), "k2")) == ""
