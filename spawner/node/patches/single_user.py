"""JupyterHubSingleUser and its identity provider: a server of ours, which no look at the hub ends.

JupyterHub asks its hub for a version while the server loads, and ends the server if there is no
answer in 46 s. The hub has had the report of the port by then, and compares versions itself.

Source:
    JupyterHub 6.1.1, `JupyterHubSingleUser.check_hub_version` and `serverapp_class`; Jupyter Server
    2.21.1, `IdentityProvider.token`.

Shown by:
    tests/server/test_start.py
    tests/programs/spawner/node/test_session_server.py
"""

from jupyter_server.serverapp import ServerApp
from jupyterhub.singleuser.extension import JupyterHubIdentityProvider, JupyterHubSingleUser


def serve_with(server_class: type[ServerApp]) -> None:
    """Have `JupyterHubSingleUser.initialize_server` make a server of this class."""
    JupyterHubSingleUser.serverapp_class = server_class
    JupyterHubSingleUser.check_hub_version = _ask_nothing
    # Jupyter's templates write it into pages, such as those of errors. This server asks the hub who
    # somebody is, and lets nobody in for its own token.
    JupyterHubIdentityProvider.token = ""


async def _ask_nothing(_self: JupyterHubSingleUser) -> None:
    return
