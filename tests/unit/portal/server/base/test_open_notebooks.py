"""Which notebook a kernel belongs to."""

import asyncio
from typing import Any

from portal.server.base.open_notebooks import notebook_of


class Sessions:
    """Stands for Jupyter's session manager."""

    async def list_sessions(self) -> list[dict[str, Any]]:
        return [{"path": "work/a.ipynb", "kernel": {"id": "k1"}}]


def test_a_kernel_is_known_by_its_id() -> None:
    assert asyncio.run(notebook_of(Sessions(), "k1")) == "work/a.ipynb"


def test_a_kernel_without_a_document_has_none() -> None:
    assert asyncio.run(notebook_of(Sessions(), "k2")) == ""
