"""Leave a websocket so that nothing of it is left open."""

from tornado.websocket import WebSocketClientConnection


async def close_websocket(socket: WebSocketClientConnection) -> None:
    """Close a websocket and wait until the other end has closed it, too.

    A loop that ends before drops the open connection, which fails the tests at their very end.
    """
    socket.close()
    while await socket.read_message() is not None:
        pass
