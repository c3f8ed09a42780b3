"""A server in place of sessions': it shows a certificate, and sends as much as is asked for."""

import itertools
import operator
import re
import socket
import ssl
import tempfile
import threading
from base64 import b64encode
from hashlib import sha1
from pathlib import Path
from typing import Self

from spawner.certificates import AUTHORITY_FILE, make_identity

ADDRESS = "127.0.0.1"
_PIECE = b"x" * 1024 * 1024
# RFC 6455.
_KEY = b"sec-websocket-key:"
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_SWITCH = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: "
)


class PinnedServer:
    """Answers a path that ends with a number with as many bytes, and echoes over a WebSocket.

    Attributes:
        certificate: What the proxy has to be told, as PEM.
        n_requests: What arrived so far.
    """

    def __init__(self, certificates_dir: Path) -> None:
        key, self.certificate = make_identity("a session", ADDRESS)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(key + self.certificate)
            file.flush()
            self._tls.load_cert_chain(file.name)
        # As a session, it talks to the portal's proxy only.
        self._tls.verify_mode = ssl.CERT_REQUIRED
        self._tls.load_verify_locations(certificates_dir / AUTHORITY_FILE)
        self.n_requests = 0
        self._socket = socket.create_server((ADDRESS, 0), backlog=100)
        self.url = f"https://{ADDRESS}:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with self._tls.wrap_socket(connection, server_side=True) as sock:
                self._answer(sock)
        except OSError:
            # The other end is gone, or refuses the certificate.
            connection.close()

    def _answer(self, sock: ssl.SSLSocket) -> None:
        reader = sock.makefile("rb")
        while lines := list(itertools.takewhile(lambda line: line.strip(), reader)):
            self.n_requests += 1
            key = next((one for one in lines if one.lower().startswith(_KEY)), None)
            if key is not None:
                answer = b64encode(sha1(key[len(_KEY) :].strip() + _MAGIC).digest())
                sock.sendall(_SWITCH + answer + b"\r\n\r\n")
                while head := reader.read(2):
                    mask, text = reader.read(4), reader.read(head[1] & 127)
                    plain = bytes(map(operator.xor, text, itertools.cycle(mask)))
                    sock.sendall(bytes([head[0], len(plain)]) + plain)
                return
            size = re.search(rb"(\d*) HTTP", lines[0])
            n_left = int(size[1]) if size and size[1] else 0
            piece = _PIECE[:n_left]
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (n_left, piece))
            while n_left := n_left - len(piece):
                piece = piece[:n_left]
                sock.sendall(piece)
