"""The help pages: the guides for users, which anybody may read, also before the login."""

import re
from dataclasses import asdict
from typing import Any

from jupyterhub.handlers import BaseHandler

from portal.hub.network.refusals import PlainNames
from portal.hub.pages.guide import (
    FRONT,
    GUIDES_DIR,
    guide_groups,
    guide_names,
    read_guide,
    search_parts,
)
from portal.hub.pages.laptop_program import FILE, LaptopProgramHandler

ROUTE = "/help"


class HelpHandler(BaseHandler):
    """Shows a guide."""

    async def get(self, name: str | None = None) -> None:
        """Show the guide of that name, or the list of all."""
        url = f"{self.hub.base_url}{ROUTE.lstrip('/')}/"
        public_url = self.settings.get("public_url")
        name = name or FRONT
        guide = read_guide(name, url, public_url.geturl() if public_url else "")
        page = await self.render_template(
            "help.html", guide=guide, shown=name, groups=guide_groups(), guides_url=url
        )
        self.finish(page)


class HelpSearchHandler(BaseHandler):
    """Gives the browser the words of all guides."""

    async def get(self) -> None:
        """Answer with the parts of all guides."""
        self.set_header("Cache-Control", "no-cache")
        self.finish({"parts": [asdict(part) for part in search_parts()]})


class HelpImageHandler(PlainNames):
    """Serves the pictures of the guides."""

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
        (f"{ROUTE}/{re.escape(FILE)}", LaptopProgramHandler),
        (rf"{ROUTE}/search\.json", HelpSearchHandler),
        (rf"{ROUTE}/({'|'.join(guide_names())})", HelpHandler),
        (rf"{ROUTE}/images/(.*)", HelpImageHandler, {"path": str(images)}),
    ]
