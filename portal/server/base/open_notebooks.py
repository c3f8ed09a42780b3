"""Which notebook a kernel belongs to."""

from jupyter_server.services.sessions.sessionmanager import SessionManager


async def notebooks_by_kernel(session_manager: SessionManager) -> dict[str, str]:
    """Return the path of each kernel's notebook, by the kernel's id."""
    found: dict[str, str] = {}
    for one in await session_manager.list_sessions():
        if one["kernel"]:
            # Of several the first: a console of a notebook's kernel comes later.
            found.setdefault(one["kernel"]["id"], one["path"])
    return found


async def notebook_of(session_manager: SessionManager, kernel_id: str) -> str:
    """Return the path of a kernel's notebook; empty if it has none."""
    return (await notebooks_by_kernel(session_manager)).get(kernel_id, "")
