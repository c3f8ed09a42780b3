"""Which notebook a kernel belongs to."""

from typing import Any


async def notebooks_by_kernel(session_manager: Any) -> dict[str, str]:
    """Return the path of each kernel's notebook, by the kernel's id.

    Args:
        session_manager: Jupyter's, which knows which document has which kernel.
    """
    sessions = await session_manager.list_sessions()
    return {one["kernel"]["id"]: one["path"] for one in sessions if one["kernel"]}


async def notebook_of(session_manager: Any, kernel_id: str) -> str:
    """Return the path of a kernel's notebook; empty if it has none.

    Args:
        session_manager: Jupyter's, which knows which document has which kernel.
        kernel_id: Id of the kernel.
    """
    sessions = await session_manager.list_sessions()
    return next((one["path"] for one in sessions if one["kernel"]["id"] == kernel_id), "")
