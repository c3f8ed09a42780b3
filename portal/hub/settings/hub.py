"""The table [hub] of portal.toml."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from portal.settings.validators import (
    check_address,
    check_database_url,
    check_networks,
    check_user_names,
    like,
    url,
)
from spawner.settings.schema import setting

# No part begins with a dot: ".." would lead out of the path.
BASE_URL = r"/(?:[A-Za-z0-9][A-Za-z0-9._~-]*/)*"
check_public_url = url(
    *("http", "https"),
    sentence="it must look like https://portal.example.com. A path is for base_url.",
)

_check_http = url(
    *("http", "https"), sentence='it must look like "http://127.0.0.1:8001".', may_have_path=True
)


def is_loopback(address: str) -> bool:
    """Return whether only this host reaches an address or the name of a host."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def check_proxy_api(text: str) -> str:
    """Refuse an address that other hosts could reach: it leads sessions to whom it is told."""
    is_here = is_loopback(urlsplit(text).hostname or "")
    return _check_http(text) or ("" if is_here else "it must be on the loopback, as 127.0.0.1 is.")


class LogFormat(Enum):
    """Format of the hub's log."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, kw_only=True)
class HubSettings:
    """Where JupyterHub and its proxy listen and keep their state."""

    address: str = setting(
        "Address of this host on the network of the compute nodes. Sessions call the hub there.",
        example="10.77.0.1",
        check=check_address,
    )
    # This port, 8000 and 8001 are JupyterHub's own defaults.
    api_port: int = setting(
        "Port of the hub on that address.", default=8081, lowest=1, highest=65535
    )
    public_port: int = setting(
        "Port on which users open the portal.", default=8000, lowest=1, highest=65535
    )
    public_address: str = setting(
        "Address on which that port listens. 127.0.0.1 is for a front end with TLS on this host. On"
        " any other, passwords and cookies cross the network unencrypted. 0.0.0.0 means all.",
        default="127.0.0.1",
        check=check_address,
    )
    public_url: str = setting(
        "Address that users open if a front end with TLS is in front of public_port, such as"
        " https://portal.example.com. With https, cookies are sent over TLS only, and 'dsportal "
        "check' checks the certificate.",
        default="",
        check=check_public_url,
    )
    base_url: str = setting(
        "Path below which users open the portal, such as /jupyter/ if the front end has other"
        " pages at /. Everything is below it: the hub at /jupyter/hub/, sessions at /jupyter/user/."
        " Sessions that run when it changes have to be started again.",
        default="/",
        check=like(
            BASE_URL,
            'it must look like "/jupyter/": a slash at both ends, and letters, digits, ".", "_",'
            ' "~" and "-" between.',
        ),
    )
    subdomain_host: str = setting(
        "The same as public_url if each user's sessions are to have a host name of their own,"
        " such as ada.portal.example.com, so that browsers isolate users. Needs DNS and a"
        " certificate for *.portal.example.com. Empty: all users share one host name.",
        default="",
        check=check_public_url,
    )
    # Nobody by default: else each client could choose the address that it logs in from.
    trusted_proxies: tuple[str, ...] = setting(
        "Addresses or networks of front ends in front of public_port, as the proxy sees them, such"
        " as 127.0.0.1 for one on this host. Only their X-Forwarded-For is trusted to say where a"
        " login comes from.",
        default=(),
        check=check_networks,
    )
    proxy_api_url: str = setting(
        "Where the hub tells the proxy about sessions, on the loopback.",
        default="http://127.0.0.1:8001",
        check=check_proxy_api,
    )
    proxy_workers: int = setting(
        "Processes among which the proxy divides users' connections, so that it uses as many cores."
        " With more than 1, one more process hands the connections out.",
        default=1,
        lowest=1,
        highest=64,
    )
    state_dir: Path = setting(
        "Folder of the hub's database and cookie secret, owned by the hub's account, mode 0700.",
        default=Path("/var/lib/data-scientist-portal/hub"),
    )
    db_url: str = setting(
        "Address of a PostgreSQL database for the hub, without a password, which belongs in"
        " .pgpass in state_dir. Empty: SQLite, in state_dir.",
        default="",
        check=check_database_url,
    )
    failover: bool = setting(
        "Whether a hub that finds another one at work on its db_url waits, to take over when that"
        " one ends, as a hub on a second host does. Without it such a hub does not start.",
        default=False,
    )
    admin_users: tuple[str, ...] = setting(
        "Administrators: users who see and stop everybody's sessions, and cannot open them. They"
        " may log in.",
        default=(),
        check=check_user_names,
    )
    full_admin_users: tuple[str, ...] = setting(
        "Full administrators, who can do at the hub what every user can: open anybody's session,"
        " with its files and a shell, make tokens in anybody's name, add and delete users, and shut"
        " the hub down. Leave it empty unless somebody needs that. They may log in.",
        default=(),
        check=check_user_names,
    )
    internal_tls: bool = setting(
        "Whether sessions talk to hub and proxy over TLS, each with a new certificate of its own at"
        " every start. Each new connection costs a handshake. Without it, anybody with a job on a"
        " node can take the port of a session that has just ended, and tokens and cookies cross the"
        " network between the nodes and this host unencrypted.",
        default=True,
    )
    # Not 0, which means no limit to JupyterHub.
    token_days: int = setting(
        "Longest lifetime of an API token that a user makes, in days.",
        default=90,
        lowest=1,
        highest=366,
    )
    log_format: LogFormat = setting(
        "How the hub writes its log. In json each line is an object, with the session's user and"
        " job.",
        default=LogFormat.TEXT,
    )

    def __post_init__(self) -> None:
        if self.failover and not self.db_url:
            raise ValueError("failover needs a db_url: the lock of the active hub is there.")
        # Even on two addresses: 0.0.0.0 as public_address takes the port on all of them.
        if self.api_port == self.public_port:
            raise ValueError(f"api_port and public_port are both {self.api_port}; choose two.")
        if self.subdomain_host and self.subdomain_host.rstrip("/") != self.public_url.rstrip("/"):
            raise ValueError(
                f"subdomain_host is {self.subdomain_host!r} and public_url {self.public_url!r}; set"
                " both to the address that users open."
            )

    @property
    def administrators(self) -> frozenset[str]:
        """Administrators and full administrators."""
        return frozenset(self.admin_users) | frozenset(self.full_admin_users)

    @property
    def hub_prefix(self) -> str:
        """Path of the hub's pages and REST API, with a slash at both ends."""
        return f"{self.base_url}hub/"

    @property
    def through_proxy_url(self) -> str:
        """URL of the hub through the proxy, for programs of this host; ends with a slash."""
        return f"http://127.0.0.1:{self.public_port}{self.hub_prefix}"

    @property
    def certificates_dir(self) -> Path:
        """Folder of the keys and certificates of internal TLS."""
        return self.state_dir / "certificates"

    @property
    def sessions_url(self) -> str:
        """URL by which sessions reach the hub; with internal TLS the proxy listens there."""
        return (
            f"{'https' if self.internal_tls else 'http'}://{_netloc(self.address, self.api_port)}"
        )

    @property
    def url(self) -> str:
        """URL on which the hub itself listens; with internal TLS only for this host."""
        if not self.internal_tls:
            return self.sessions_url
        # The proxy has the port on `address`, so the hub takes another address of this host: all of
        # 127.0.0.0/8 is local.
        address = "127.0.0.2" if self.address == "127.0.0.1" else "127.0.0.1"
        return f"http://{_netloc(address, self.api_port)}"

    @property
    def sqlite_path(self) -> Path:
        """Database file, if SQLite is used."""
        return self.state_dir / "jupyterhub.sqlite"

    @property
    def gpu_record_path(self) -> Path:
        """File with what sessions say that their GPUs did."""
        return self.state_dir / "gpu-use.sqlite"

    @property
    def sqlalchemy_url(self) -> str:
        """The database's URL for SQLAlchemy, with the driver."""
        if not self.db_url:
            return f"sqlite:///{self.sqlite_path}"
        # Without a driver SQLAlchemy takes psycopg2; the hub has psycopg 3.
        return self.db_url.replace("postgresql://", "postgresql+psycopg://", 1)


def _netloc(address: str, port: int) -> str:
    # IPv6: without brackets the port would be one more group of the address.
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
