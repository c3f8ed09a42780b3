"""Routes of hub and session as the described API writes them."""

import re

# Jupyter's, for the rest of a path.
PATH = r"(?P<path>(?:(?:/[^/]+)+|/?))"
_API = re.compile(r"/hub/api/dsportal/|/user/\{\}/portal/(api/|ssh$)")
# Where a site allows no downloads, it refuses those.
_ANY = ".*"


def template(pattern: str, prefix: str = "") -> str:
    """Return a pattern of a route as a path with {} for each part that differs."""
    path = pattern.removesuffix("$").replace(PATH, "/{}")
    return prefix + re.sub(r"\(\[\^/\][+*]\)", "{}", path)


def is_of_api(path: str) -> bool:
    """Return whether a path is the portal's own, and none that serves its pages."""
    return _API.match(path) is not None and not path.endswith(_ANY)
