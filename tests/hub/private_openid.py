"""An OpenID provider of our own: it says who somebody is to whoever asks as the standard has it."""

import base64
import contextlib
import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.support.stand_in_server import Handler, serving

CLIENT_ID = "portal"
CLIENT_SECRET = secrets.token_hex(16)


@dataclass
class Provider:
    """A running provider.

    Attributes:
        user: Who logs in next, as the claims of a user.
    """

    url: str
    user: dict[str, Any] = field(default_factory=dict)
    challenges: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)


def _handler(provider: Provider) -> type[Handler]:
    class OfProvider(Handler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                self._authorize({key: one for key, (one, *_) in parse_qs(parts.query).items()})
            elif parts.path == "/userinfo":
                token = self.headers.get("Authorization", "").removeprefix("Bearer ")
                user = provider.tokens.get(token)
                self.answer(200 if user else 401, user or {"error": "invalid_token"})
            else:
                self.answer(404, {})

        def do_POST(self) -> None:
            if self.path != "/token":
                self.answer(404, {})
                return
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked = {key: one for key, (one, *_) in parse_qs(body).items()}
            verifier = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
            challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
            is_right = (
                provider.challenges.pop(asked.get("code", ""), None) == challenge
                and asked.get("client_id") == CLIENT_ID
                and asked.get("client_secret") == CLIENT_SECRET
            )
            if not is_right:
                self.answer(400, {"error": "invalid_grant"})
                return
            token = secrets.token_hex(16)
            provider.tokens[token] = provider.user
            self.answer(200, {"access_token": token, "token_type": "Bearer"})

        def _authorize(self, asked: dict[str, str]) -> None:
            if not {"code_challenge", "state", "redirect_uri"} <= asked.keys():
                self.answer(400, {"error": "invalid_request"})
                return
            code = secrets.token_hex(16)
            provider.challenges[code] = asked["code_challenge"]
            answer = urlencode({"code": code, "state": asked["state"]})
            self.send_response(302)
            self.send_header("Location", f"{asked['redirect_uri']}?{answer}")
            self.end_headers()

    return OfProvider


@contextlib.contextmanager
def running_provider() -> Iterator[Provider]:
    """Run a provider; yield it."""
    provider = Provider(url="")
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), _handler(provider))) as server:
        provider.url = f"http://127.0.0.1:{server.server_port}"
        yield provider
