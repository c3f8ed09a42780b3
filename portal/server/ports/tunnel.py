"""A websocket between the browser and a program: bytes are copied both ways, unread."""

import asyncio

import httpcore
from tornado.iostream import IOStream, StreamClosedError

from portal.server.base.forwarding import HOP_BY_HOP, ForwardingHandler

_CHUNK_BYTES = 64 * 1024
_Ended = (StreamClosedError, httpcore.NetworkError, httpcore.TimeoutException)


async def tunnel(handler: ForwardingHandler, response: httpcore.Response) -> None:
    """Accept the websocket as the program did with 101, and copy bytes until one side ends.

    Source:
        RFC 6455, 4.2.2; https://www.encode.io/httpcore/extensions/#network_stream
    """
    handler.set_status(response.status)
    handler.clear_header("Content-Type")
    for name, value in response.headers:
        text = name.decode("latin-1")
        if text.lower() not in handler.not_passed_back | HOP_BY_HOP:
            handler.add_header(text, value.decode("latin-1"))
    handler.set_header("Connection", "Upgrade")
    handler.set_header("Upgrade", "websocket")
    program: httpcore.AsyncNetworkStream = response.extensions["network_stream"]
    try:
        await handler.flush()
    except StreamClosedError:
        return
    # From here on these are frames of a websocket, and no longer HTTP of Tornado's.
    browser = handler.detached = handler.detach()
    both = [
        asyncio.ensure_future(_from_browser(browser, program)),
        asyncio.ensure_future(_from_program(program, browser)),
    ]
    try:
        # If one side has closed, the other would wait for ever.
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in both:
            one.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        browser.close()
        await program.aclose()


async def _from_browser(browser: IOStream, program: httpcore.AsyncNetworkStream) -> None:
    try:
        while True:
            await program.write(await browser.read_bytes(_CHUNK_BYTES, partial=True))
    except _Ended:
        return


async def _from_program(program: httpcore.AsyncNetworkStream, browser: IOStream) -> None:
    try:
        while chunk := await program.read(_CHUNK_BYTES):
            await browser.write(chunk)
    except _Ended:
        return
