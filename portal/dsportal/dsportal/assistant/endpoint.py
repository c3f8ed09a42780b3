"""The site's language model: where it answers, and what its answers say."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from dsportal.errors import LaunchError

URL, MODEL, TOOLS = "PORTAL_ASSISTANT_URL", "PORTAL_ASSISTANT_MODEL", "PORTAL_ASSISTANT_TOOLS"
KEY = "OPENAI_API_KEY"
_TIMEOUT_S = 120.0
_MOST_ANSWERED = 60_000
Message = dict[str, Any]


class AssistantError(LaunchError):
    """The model gave no answer."""


@dataclass(frozen=True)
class Endpoint:
    """Where the model answers.

    Attributes:
        url: Of the API, such as http://10.77.0.5:8000/v1.
        key: Empty if it needs none.
        has_tools: Whether the site lets the model ask for tools.
    """

    url: str
    model: str
    key: str = ""
    has_tools: bool = False

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Endpoint":
        """Return the site's."""
        if not environ.get(URL):
            raise AssistantError("This site offers no assistant. Ask the administrators for one.")
        has_tools = environ.get(TOOLS) == "1"
        return cls(environ[URL], environ.get(MODEL, ""), environ.get(KEY, ""), has_tools)

    @property
    def host(self) -> str:
        """Its name and port, for sentences."""
        return urlsplit(self.url).netloc


@dataclass
class Call:
    """A tool that the model asks for.

    Attributes:
        arguments: JSON, as far as it has come.
    """

    id: str
    name: str = ""
    arguments: str = ""


@dataclass
class Answer:
    """What the model has said so far."""

    text: str = ""
    calls: list[Call] = field(default_factory=list)

    @property
    def is_too_long(self) -> bool:
        """Whether the rest is not worth waiting for."""
        return len(self.text) + sum(len(one.arguments) for one in self.calls) > _MOST_ANSWERED

    @property
    def message(self) -> Message:
        """It, as the model is told it again."""
        called = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": one.name, "arguments": one.arguments},
            }
            for one in self.calls
        ]
        said: Message = {"role": "assistant", "content": self.text}
        return {**said, "tool_calls": called} if called else said

    def take(self, line: bytes) -> str:
        """Add what a line of the stream holds; return its text, which moves no cursor."""
        _, found, data = line.partition(b"data:")
        try:
            choices = json.loads(data)["choices"] if found else []
            delta = choices[0]["delta"] if choices else {}
            text = "".join(
                one for one in str(delta.get("content") or "") if one.isprintable() or one in "\n\t"
            )
            self.text += text
            for part in delta.get("tool_calls") or []:
                self._take_call(part)
        except (ValueError, LookupError, TypeError, AttributeError):
            # The last line is "[DONE]", and others may be comments.
            return ""
        return text

    def _take_call(self, part: Mapping[str, Any]) -> None:
        # A call comes in pieces, of which the first alone has its id.
        if part.get("id") and all(one.id != part["id"] for one in self.calls):
            self.calls.append(Call(str(part["id"])))
        call, told = self.calls[-1], part.get("function") or {}
        call.name += str(told.get("name") or "")
        call.arguments += str(told.get("arguments") or "")


def stream(
    endpoint: Endpoint, messages: Sequence[Message], tools: Sequence[Message], answer: Answer
) -> Iterator[str]:
    """Yield the parts of the text as they come, and collect all in `answer`.

    Source:
        https://platform.openai.com/docs/api-reference/chat, `stream`; vLLM serves the same.
    """
    asked = {"model": endpoint.model, "messages": messages, "stream": True}
    # The settings have checked that it is an address of the web.
    request = urllib.request.Request(  # noqa: S310
        f"{endpoint.url.rstrip('/')}/chat/completions",
        json.dumps(asked | ({"tools": tools} if tools else {})).encode(),
        {"Content-Type": "application/json"}
        | ({"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}),
    )
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_TIMEOUT_S) as lines:
            for line in lines:
                if part := answer.take(line):
                    yield part
                if answer.is_too_long:
                    # Half a call is none.
                    answer.calls.clear()
                    return
    except urllib.error.HTTPError as error:
        with error:
            raise AssistantError(_refusal(endpoint, error.code)) from None
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise AssistantError(
            f"The assistant at {endpoint.host} does not answer: {reason}. Try again later, or tell"
            " the administrators."
        ) from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    # It would carry question and key to wherever the answer points.
    def redirect_request(self, *_: Any) -> None:
        return None


def _refusal(endpoint: Endpoint, status: int) -> str:
    said = f"The assistant at {endpoint.host} refused the question (status {status})."
    if status in {401, 403}:
        return (
            f"{said} If it wants a key of yours, run this and ask again: import os, getpass; "
            f"os.environ[{KEY!r}] = getpass.getpass()"
        )
    return f"{said} Try a shorter one after %ask --new, or tell the administrators."
