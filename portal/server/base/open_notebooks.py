"""Which notebook a kernel belongs to."""

from jupyter_server.services.sessions.sessionmanager import SessionManager


async def notebooks_by_kernel(session_manager: SessionManager) -> dict[str, str]:
    """Return the path of each kernel's notebook, by the kernel's id."""
    sessions = await session_manager.list_sessions()
    return {one["kernel"]["id"]: one["path"] for one in sessions if one["kernel"]}


async def notebook_of(session_manager: SessionManager, kernel_id: str) -> str:
    """Return the path of a kernel's notebook; empty if it has none."""
    sessions = await session_manager.list_sessions()
    return next((one["path"] for one in sessions if one["kernel"]["id"] == kernel_id), "")
