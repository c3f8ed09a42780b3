"""The hubs of this machine: one at /, or several below paths of their own, with nginx at /."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from deploy.one_machine.layout import (
    HUB_STATE_DIR,
    PORTAL_TOML,
    RUN_DIR,
    STATE_DIR,
    render,
)

# The letters are names of hubs, too.
MOST_HUBS = 4
PUBLIC_PORT = 8000
NGINX_PACKAGE = "nginx"
FRONT = "front"
FRONT_DIR = RUN_DIR / FRONT
SHARED_DIR = STATE_DIR / "hubs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """One hub with its proxy.

    Attributes:
        name: Empty for the only one.
        number: Its place among them, from 0 on.
    """

    name: str = ""
    number: int = 0

    @property
    def base_url(self) -> str:
        """Path below which users open it."""
        return f"/{self.name}/" if self.name else "/"

    @property
    def api_port(self) -> int:
        """Port of the hub, where sessions reach it."""
        return 8081 + 10 * self.number

    @property
    def public_port(self) -> int:
        """Port of its proxy, which only nginx asks if there are several."""
        return 8010 + 10 * self.number if self.name else PUBLIC_PORT

    @property
    def proxy_api_port(self) -> int:
        """Port on which the hub tells its proxy routes."""
        return 8001 + 10 * self.number

    @property
    def settings(self) -> Path:
        """Its portal.toml; `dsportal` reads that of the first one by itself."""
        return PORTAL_TOML.with_stem(self._second(PORTAL_TOML.stem))

    @property
    def state_dir(self) -> Path:
        """Its folder."""
        return HUB_STATE_DIR.with_name(self._second(HUB_STATE_DIR.name))

    def daemon(self, part: str) -> str:
        """Return the name of a daemon: `part` is "hub" or "proxy"."""
        return self._second(part)

    def _second(self, name: str) -> str:
        return f"{name}-{self.name}" if self.number else name


ONLY = Hub()


def hubs_of(n_hubs: int) -> tuple[Hub, ...]:
    """Return so many hubs, 1 to MOST_HUBS."""
    if n_hubs == 1:
        return (ONLY,)
    return tuple(Hub(name=chr(ord("a") + number), number=number) for number in range(n_hubs))


def front_settings(hubs: tuple[Hub, ...], *, listen: str, folder: Path) -> str:
    """Return nginx's settings: hubs below their paths, and at / whichever of them answers.

    Args:
        listen: Address and port that users open.
        folder: nginx's own.
    """
    return render(
        "front.conf",
        FOLDER=folder,
        LISTEN=listen,
        HOMES=_lines(f'{hub.name} "{hub.base_url}";' for hub in hubs),
        SERVERS=_lines(f"server 127.0.0.1:{hub.public_port} max_fails=0;" for hub in hubs),
        PATHS=_lines(
            f"location {hub.base_url} {{ proxy_pass http://127.0.0.1:{hub.public_port}; }}"
            for hub in hubs
        ),
    )


def _lines(texts: Iterable[str]) -> str:
    return "\n        ".join(texts)
