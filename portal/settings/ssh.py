"""The table [ssh] of portal.toml."""

from dataclasses import dataclass

from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class SshSettings:
    """Connections over ssh from users' own machines, through the portal's login.

    Offered on nodes that have sshd, Debian's openssh-server. No port is opened, and sshd need not
    run there: a session starts one of its own for each connection.
    """

    limit: int = setting(
        "Most connections at once in a session. An editor takes one or a few. 0 switches ssh off.",
        default=16,
        lowest=0,
        highest=200,
    )
    forwards_ports: bool = setting(
        "Whether 'ssh -L' may lead to TCP ports, as a shell of the session can. Unix sockets are"
        " always forwarded. PyCharm needs ports, VS Code can do without.",
        default=True,
    )
