"""The way from the browser to a TensorBoard, through the login of the notebook server."""

from __future__ import annotations

import html
from collections.abc import Iterable

import httpcore
from jupyter_server.base.handlers import JupyterHandler
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError

from portal.server.access import for_the_user
from portal.server.tensorboard import TensorBoard
from portal.server.tensorboards import TensorBoards
from spawner.errors import PortalError

_HOP_BY_HOP = {
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_SECRETS = {"authorization", "cookie", "referer", "x-xsrftoken"}
_NOT_PASSED_ON = _HOP_BY_HOP | _SECRETS | {"content-length", "expect", "host"}
_NOT_PASSED_BACK = _HOP_BY_HOP | {"date", "server", "set-cookie"}
_SECRET_ARGUMENTS = ("token=", "_xsrf=")
_CONNECT_TIMEOUT_S = 5
_ANSWER_TIMEOUT_S = 300

_PAGE = """<!doctype html><meta charset="utf-8"><title>TensorBoard</title>
<body style="font: 16px sans-serif; max-width: 40em; margin: 15vh auto; padding: 0 1em">
<h1 style="font-size: 1.3em">{title}</h1><p>{text}</p>
"""


class TensorBoardProxy(JupyterHandler):
    """Passes every request for a TensorBoard's pages on to its unix socket.

    The answer is passed back as it comes. Cookies and tokens of the session stay here.

    Source:
        Hop-by-hop headers: RFC 9110, 7.6.1.
    """

    auth_resource = "tensorboards"

    def initialize(self, tensorboards: TensorBoards) -> None:
        """Take what the route was registered with."""
        self.tensorboards = tensorboards

    def check_xsrf_cookie(self) -> None:
        """Accept requests without the session's cross-site token, which TensorBoard does not send.

        A page elsewhere is refused by its origin. A page on the same host, such as another user's,
        cannot name the address: the id in it is random.

        Raises:
            HTTPError: If the request comes from another origin.
        """
        # Tornado asks before it is known who it is; the notebook server asks once more.
        if hasattr(self, "_jupyter_current_user") and not self.check_origin():
            raise HTTPError(403, "TensorBoard is not for pages of another site.")

    @for_the_user
    async def forward(self, board_id: str, path: str | None) -> None:
        """Pass the request on.

        Args:
            board_id: Which TensorBoard.
            path: The rest of the path; the request's own spelling of it is what is passed on.
        """
        try:
            board = await self.tensorboards.find_or_wake(board_id)
        except PortalError as error:
            self._say(error.http_status, "This TensorBoard was stopped while idle", error.message)
            return
        if board is None:
            self._say_gone()
        elif not path:
            self.redirect(f"{board.path_prefix}/")
        else:
            await self._forward_to(board)
            self.tensorboards.note_use(board_id)

    get = head = post = put = delete = patch = options = forward

    async def _forward_to(self, board: TensorBoard) -> None:
        timeouts = {"connect": _CONNECT_TIMEOUT_S, "read": _ANSWER_TIMEOUT_S}
        request = httpcore.Request(
            method=str(self.request.method),
            url=httpcore.URL(scheme=b"http", host=b"localhost", port=None, target=self._target()),
            headers=self._request_headers(),
            content=self.request.body or None,
            extensions={"timeout": timeouts},
        )
        async with httpcore.AsyncConnectionPool(uds=str(board.socket_path)) as pool:
            try:
                response = await pool.handle_async_request(request)
            except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
                self.log.warning("TensorBoard of %s did not answer", board.folders, exc_info=True)
                self._say_silent()
                return
            await self._pass_back(response)

    async def _pass_back(self, response: httpcore.Response) -> None:
        self.set_status(response.status)
        self.clear_header("Content-Type")
        for name, value in response.headers:
            if name.lower().decode("latin-1") not in _NOT_PASSED_BACK:
                self.add_header(name.decode("latin-1"), value.decode("latin-1"))
        try:
            await self.flush()
            async for chunk in response.aiter_stream():
                self.write(chunk)
                await self.flush()
            await self.finish()
        except StreamClosedError:
            self.log.debug("The browser went away before the end of %s", self.request.path)

    def _target(self) -> bytes:
        path, _, query = str(self.request.uri).partition("?")
        parts = query.split("&") if query else []
        kept = [part for part in parts if not part.startswith(_SECRET_ARGUMENTS)]
        return f"{path}{'?' if kept else ''}{'&'.join(kept)}".encode("latin-1")

    def _request_headers(self) -> list[tuple[bytes, bytes]]:
        headers: Iterable[tuple[str, str]] = self.request.headers.get_all()
        kept = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in headers
            if name.lower() not in _NOT_PASSED_ON
        ]
        if self.request.body:
            kept.append((b"Content-Length", str(len(self.request.body)).encode("ascii")))
        return [*kept, (b"Host", b"localhost")]

    def _say_gone(self) -> None:
        self._say(
            404,
            "This TensorBoard has ended",
            "TensorBoards end with the session, or when they are stopped. Select the folder in the "
            "file browser and press the TensorBoard button to open it again.",
        )

    def _say_silent(self) -> None:
        self._say(
            502,
            "This TensorBoard does not answer",
            "Reload this page in a moment. If that does not help, stop it in the list of running "
            "kernels and terminals and open its folder again.",
        )

    def _say(self, status: int, title: str, text: str) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(_PAGE.format(title=html.escape(title), text=html.escape(text)))
