"""Frees what a request held as soon as it is over, its body among it."""

from __future__ import annotations

from tornado.web import RequestHandler


def free_finished_requests() -> None:
    """Drop at a request's end what JupyterHub gave its handler and what holds the handler in turn.

    Otherwise handler, request and body are there until Python's collector of cycles comes by. It
    counts objects, not bytes, so that hundreds of MiB of an upload's pieces may wait for it.

    Source:
        JupyterHub 6.1, JupyterHubIdentityProvider._patch_get_login_url; Tornado 6.6,
        RequestHandler.finish.
    """
    break_cycles = RequestHandler._break_cycles

    def break_all_cycles(self: RequestHandler) -> None:
        break_cycles(self)
        vars(self).pop("get_login_url", None)

    RequestHandler._break_cycles = break_all_cycles  # type: ignore[method-assign]
