"""Forwards requests of the browser to a viewer, behind the login of the notebook server."""

import asyncio

import httpcore
from tornado.web import HTTPError

from dsportal.slurm.errors import PortalError
from portal.server.base.authorization import for_the_user
from portal.server.base.forwarding import ForwardingHandler
from portal.server.viewers.page import FolderPage
from portal.server.viewers.pages import FolderPages

_CONNECT_TIMEOUT_S = 5
_ANSWER_TIMEOUT_S = 300


class PageProxy(ForwardingHandler):
    """Forwards requests for the pages of a viewer to its unix socket."""

    auth_resource = "tensorboards"

    def initialize(self, pages: FolderPages) -> None:
        """Store the arguments of the route."""
        self.pages = pages
        self.page_title = pages.viewer.title

    def check_xsrf_cookie(self) -> None:
        """Accept requests without the XSRF token, which TensorBoard and MLflow do not send.

        A page elsewhere is refused by its origin. A page on the same host, such as another user's,
        cannot guess the random id in the URL.
        """
        # Tornado calls this before the user is known; the notebook server calls it again
        # afterwards.
        if hasattr(self, "_jupyter_current_user") and not self.check_origin():
            raise HTTPError(403, f"{self.page_title} is not for pages of another site.")

    @for_the_user
    async def forward(self, page_id: str, path: str | None) -> None:
        """Forward the request, in its own spelling; `path` only tells whether there is one."""
        try:
            page = await self.pages.find_or_wake(page_id)
        except PortalError as error:
            self.say(
                error.http_status, f"This {self.page_title} was stopped while idle", error.message
            )
            return
        if page is None:
            self._answer_gone()
        # The page has relative links, which need the slash at the end.
        elif not path:
            self.redirect(f"{page.path_prefix}/")
        elif path == "/" and (missing := await asyncio.to_thread(_missing_folders, page)):
            # TensorBoard itself shows the old curves for ever.
            self._answer_missing(missing)
        else:
            await self._forward_to(page)
            # Again at the end: a response can take minutes.
            self.pages.note_use(page_id)

    get = head = post = put = delete = patch = options = forward

    def target(self, page: FolderPage) -> str:
        """Return the path and query that the program is asked for."""
        del page
        return self.harmless_uri()

    async def _forward_to(self, page: FolderPage) -> None:
        target = self.target(page).encode("latin-1")
        timeouts = {"connect": _CONNECT_TIMEOUT_S, "read": _ANSWER_TIMEOUT_S}
        request = httpcore.Request(
            method=str(self.request.method),
            url=httpcore.URL(scheme=b"http", host=b"localhost", port=None, target=target),
            headers=self.harmless_headers("localhost"),
            content=self.request.body or None,
            extensions={"timeout": timeouts},
        )
        async with httpcore.AsyncConnectionPool(uds=str(page.socket_path)) as pool:
            try:
                response = await pool.handle_async_request(request)
            except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
                self.log.warning(
                    "%s of %s did not answer", self.page_title, page.folders, exc_info=True
                )
                self._answer_silent()
                return
            await self.pass_back(response)

    def _answer_gone(self) -> None:
        self.say(
            404,
            f"This {self.page_title} has ended",
            f"Every {self.page_title} ends with the session, or when it is stopped. Select the "
            f"folder in the file browser and press the {self.page_title} button to open it again.",
        )

    def _answer_missing(self, names: str) -> None:
        self.say(
            404,
            f"The folder of this {self.page_title} is gone",
            f"{names} has been removed or renamed since this {self.page_title} was opened. Select "
            f"a folder in the file browser and press the {self.page_title} button.",
        )

    def _answer_silent(self) -> None:
        self.say(
            502,
            f"This {self.page_title} is not responding",
            "Reload this page in a moment. If that does not help, stop it in the list of running "
            "kernels and terminals and open its folder again.",
        )


def _missing_folders(page: FolderPage) -> str:
    return ", ".join(logdir.name for logdir in page.logdirs if not logdir.path.is_dir())
