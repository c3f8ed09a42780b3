"""The help pages: the guides for users, which anybody may read, also before the login."""

from __future__ import annotations

from typing import Any

from jupyterhub.handlers import BaseHandler
from tornado.web import StaticFileHandler

from portal.hub.network.refusals import refuse_nul
from portal.hub.pages.guide import GUIDES, GUIDES_DIR, read_guide
from portal.hub.pages.ssh_client import SshClientHandler

ROUTE = "/help"


class HelpHandler(BaseHandler):
    """Shows a guide."""

    async def get(self, name: str | None = None) -> None:
        """Show the guide of that name, or the users' guide."""
        url = f"{self.hub.base_url}{ROUTE.lstrip('/')}/"
        public_url = self.settings.get("public_url")
        guide = read_guide(name or GUIDES[0], url, public_url.geturl() if public_url else "")
        others = [(url + other, read_guide(other, url).title) for other in GUIDES]
        page = await self.render_template("help.html", guide=guide, guides=others)
        self.finish(page)


class HelpImageHandler(StaticFileHandler):
    """Serves the pictures of the guides."""

    def parse_url_path(self, url_path: str) -> str:
        """Return the path of a file below the folder.

        Raises:
            HTTPError: 404 if no file can have that name.
        """
        return refuse_nul(super().parse_url_path(url_path))

    def set_extra_headers(self, path: str) -> None:
        """Make browsers ask again: another release has other pictures of the same name."""
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-cache")


def help_routes() -> list[tuple[Any, ...]]:
    """Return the routes of the guides and of their pictures."""
    # Tornado follows no link out of the folder that it serves.
    images = (GUIDES_DIR / "images").resolve()
    return [
        (rf"{ROUTE}/?", HelpHandler),
        (rf"{ROUTE}/dsportal-ssh\.pyz", SshClientHandler),
        (rf"{ROUTE}/({'|'.join(GUIDES)})", HelpHandler),
        (rf"{ROUTE}/images/(.*)", HelpImageHandler, {"path": str(images)}),
    ]
