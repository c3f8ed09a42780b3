"""Shared by all pages: the site's name, static files, security headers."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from portal.hub.network.refusals import PlainNames
from portal.hub.settings.hub import HubSettings
from spawner.settings.site import SiteSettings

HUB_DIR = Path(__file__).parents[1]
TEMPLATES_DIR = HUB_DIR / "templates"
STATIC_DIR = HUB_DIR / "static"
STATIC_ROUTE = "portal/static/"

# JupyterHub's own pages carry inline scripts, so scripts cannot be limited to files.
CONTENT_SECURITY_POLICY = "; ".join([
    "default-src 'self'",
    "script-src 'self' 'unsafe-inline'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
])  # fmt: skip

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    # Addresses of the hub hold names of users.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # A page of another site that opened one of the hub's, or was opened by it, has no hold on it.
    "Cross-Origin-Opener-Policy": "same-origin",
    # The browser's back button asks again: a page shows the moment, and after a sign-out nothing of
    # the user who was there before.
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class PortalView:
    """The variable `portal` in templates."""

    name: str
    support: str
    simulated_gpus: bool
    static_url: str

    @classmethod
    def of(cls, site: SiteSettings, hub: HubSettings) -> PortalView:
        """Return the view of a site."""
        return cls(
            name=site.name,
            support=site.support,
            simulated_gpus=site.simulated_gpus,
            static_url=f"{hub.hub_prefix}{STATIC_ROUTE}",
        )

    def static(self, name: str) -> str:
        """Return the URL of a static file, which browsers may keep: it changes with the content."""
        # Each page asks for several; an update of the portal restarts the hub.
        return f"{self.static_url}{name}?v={_version(name)}"


@functools.cache
def _version(name: str) -> str:
    return hashlib.sha256((STATIC_DIR / name).read_bytes()).hexdigest()[:16]


def cookie_options(public_url: str) -> dict[str, Any]:
    """Return Tornado's options for all cookies of the hub and of sessions.

    Args:
        public_url: URL under which users open the portal; empty if it is not set.

    Returns:
        Pages of other sites may link here, but post nothing in a user's name; cookies set over TLS
        are never sent without it.

    Source:
        JupyterHub 6.1 honours public_url for most cookies, but not for `_xsrf`.
    """
    is_tls = urlsplit(public_url).scheme == "https"
    return {"samesite": "Lax"} | ({"secure": True} if is_tls else {})


class PortalStaticHandler(PlainNames):
    """Serves the portal's static files without a login: the login page needs them."""

    def set_extra_headers(self, path: str) -> None:
        """Make browsers revalidate a file that was requested without its version."""
        self.set_header("X-Content-Type-Options", "nosniff")
        if "v" not in self.request.arguments:
            self.set_header("Cache-Control", "no-cache")


def static_route() -> tuple[str, type[PortalStaticHandler], dict[str, Any]]:
    """Return the route of the portal's static files."""
    return (f"/{STATIC_ROUTE}(.*)", PortalStaticHandler, {"path": str(STATIC_DIR)})
