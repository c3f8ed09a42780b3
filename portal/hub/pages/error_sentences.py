"""The portal's sentences in place of JupyterHub's own, on error pages and in REST errors."""

import re
from functools import partial

from spawner.hub.patches.api_handler import word_errors
from spawner.hub.patches.routes import replace_handlers
from spawner.hub.unreachable import RoutedHandler

_HIDDEN = "Page not found, or you do not have access. Your sessions are on the home page."
_LOG_IN_AGAIN = "Your login has expired. Sign out, sign in again, and repeat what you did."
_RELOAD = (
    "This page was open for too long, or in another login, to be accepted. Reload it and try again."
)
_RUNNING = (
    "The session is already running. Open it from the home page, or stop it first to start one with"
    " other options."
)
_NOT_RUNNING = (
    "The session is not running. Start it from the portal's home page, then repeat this. Unsaved"
    " changes stay in a tab while it is open."
)
_SHARE_GONE = "This invitation to a session does not exist or has expired. Ask for a new one."

# JupyterHub's words, and what is said in their place; {names} are groups of the pattern. Texts for
# writers of REST clients, such as "Body must be a JSON dict", stay as they are.
#
# Source: handlers/ and apihandlers/, scopes.py, user.py and _xsrf_utils.py of JupyterHub 6.1.1.
SENTENCES = tuple(
    (re.compile(pattern), sentence)
    # The first one that matches counts, so the general ones stand below the special ones.
    for pattern, sentence in (
        (
            r" is pending spawn$",
            "The session is already starting. The home page links to its progress. Cancel it there"
            " to start one with other options.",
        ),
        (
            r" is pending stop$",
            "The session is stopping. Start a new one when it has ended, usually within a minute.",
        ),
        (
            r" is pending (check|None)$",
            "The portal was restarted and is still checking this session. Try again in a minute.",
        ),
        (r" is pending \w+$", "The session is busy. Try again in a minute."),
        (r" is already running$", _RUNNING),
        (r" already has a default server$", _RUNNING),
        (r" is not starting\.\.\.$", "The session is not starting, so there is no progress."),
        (
            r"^Action is not authorized with current scopes; requires any of \[(?P<scopes>.*)\]$",
            "You do not have the permission for this. If you need it, ask the administrators.",
        ),
        (
            r"^Missing or invalid credentials",
            "You are not signed in. Sign in, or send a valid token.",
        ),
        (r"^No access to resources or resources not found$", _HIDDEN),
        (
            r"^No such user:? (?P<name>.+)$",
            "The portal knows no user {name}. It knows users from their first login on.",
        ),
        (
            r" has no such server (?P<name>.+)$",
            "You have no session named {name}. The home page lists your sessions.",
        ),
        (
            r" has no server named '(?P<name>.*)'$",
            "There is no session named {name}. The home page lists your sessions.",
        ),
        (
            r"^Named servers are not enabled",
            "This site allows one session for each user, without a name. Open it from the home"
            " page.",
        ),
        (
            r" already has the maximum of (?P<n>\d+) named servers",
            "You have as many named sessions as this site allows ({n}). Delete one on the home page"
            " first.",
        ),
        (
            r"^(?:Invalid|Starting invalid) server_name(?: \(may not contain '/'\))?:? ?"
            r"(?P<name>.*?)(?: is disabled, contact your administrator)?$",
            "A session cannot have the name {name}. Use up to 30 small letters, digits and dashes,"
            " with a letter at the beginning and no dash at the end.",
        ),
        (
            r"^Invalid display_name",
            "A session cannot have this title. Choose a shorter one without control characters.",
        ),
        (r"^auth has expired for | authentication has expired$", _LOG_IN_AGAIN),
        (
            r"^Spawner failed to start|^Unhandled error starting server",
            "The session could not be started, by a fault of the portal. Try again. If that does"
            " not help, tell the administrators when it happened.",
        ),
        (
            r"^Redirect loop detected",
            "Your browser was redirected in a loop. Wait a minute, then open the session"
            " from the home page.",
        ),
        (
            r"^Too many users trying to log in right now\. Try again in (?P<wait>.+)\.$",
            "Many sessions are starting at this moment. Try again in {wait}.",
        ),
        (
            r"^Active user limit exceeded",
            "As many sessions run as this site allows at a time. Try again in a few minutes.",
        ),
        (r"_xsrf' argument|^XSRF cookie does not match", _RELOAD),
        (
            r"^Invalid user-option name",
            "The address has an option without a name. An option is written as opt-gpus=2.",
        ),
        (
            r"^Cannot stop a server while it is being renamed",
            "The session is being renamed. Try again in a minute.",
        ),
        (
            r"^Cannot delete the default server",
            "The session without a name cannot be deleted. Stop it instead.",
        ),
        (
            r"^You do not have permission to access Server at (?P<path>\S+)",
            "The session at {path} is somebody else's, and you may not open it.",
        ),
        (r"^Share not found or expired|^Invalid share code", _SHARE_GONE),
        (r"^You can't share with yourself", "This invitation is to a session of your own."),
    )
)


def explain(message: str, *, is_rest: bool = False) -> str:
    """Return the portal's sentence for one of JupyterHub's; "" if it has none.

    Args:
        is_rest: Whether a program reads it, which has to know the scopes that its token lacks.
    """
    for pattern, sentence in SENTENCES:
        match = pattern.search(message)
        if match is not None:
            parts = match.groupdict()
            needed = f" A token needs one of these scopes: {parts.get('scopes')}."
            return sentence.format_map(parts) + needed * (is_rest and "scopes" in parts)
    return ""


class NotRunningHandler(RoutedHandler):
    """Answers a request to a session that does not run: JupyterLab shows it, such as for a save.

    Source:
        JupyterHub 6.1.1, `UserUrlHandler._fail_api_request`, which no exception passes through.
    """

    def _fail_api_request(self, user_name: str = "", server_name: str = "") -> None:
        self.set_status(503 if self.app.use_legacy_stopped_server_status_code else 424)
        self.finish({"message": _NOT_RUNNING})


def register() -> None:
    """Have the REST interface say these sentences; pages say them by their template."""
    word_errors(partial(explain, is_rest=True))
    replace_handlers({RoutedHandler: NotRunningHandler})
