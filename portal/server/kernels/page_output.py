"""What pages are sent of the output of cells: not more than a browser can show."""

import json
from typing import Any

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from traitlets import default

from portal.server.kernels.long_output import LongOutput, Message

# Of text; more than the beginning of a long output needs, in the 3 s over which Jupyter counts.
_BYTES_PER_S = 10_000_000.0
_TOO_FAST = (
    "Output came faster than a page can show it, and some of it is left out here. To keep all of"
    " it, write it to a file."
)


def shortened(base: type[ZMQChannelsWebsocketConnection]) -> type[Any]:
    """Return the class of connections between tabs and kernels that shortens long outputs."""

    class ShortenedConnection(base):
        """Sends the beginning and the end of a cell's text."""

        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self._texts: dict[str, LongOutput] = {}

        @default("iopub_data_rate_limit")
        def _default_data_rate_limit(self) -> float:
            return _BYTES_PER_S

        def handle_outgoing_message(self, stream: Any, outgoing_msg: list[Any]) -> None:
            """Pass on what the kernel says, or what takes its place."""
            is_published = "iopub" in {stream, getattr(stream, "channel", None)}
            for parts in self._shorten(outgoing_msg) if is_published else [outgoing_msg]:
                super().handle_outgoing_message(stream, parts)

        def write_stderr(self, error_message: str, parent_header: Message) -> None:
            """Say that messages are dropped; `error_message` advises on options of the server."""
            super().write_stderr(_TOO_FAST, parent_header)

        def _shorten(self, parts: list[Any]) -> list[list[Any]]:
            try:
                _, (_, header, parent, metadata, content, *_) = self.session.feed_identities(parts)
                kind, parent = json.loads(header)["msg_type"], json.loads(parent)
                cell = parent.get("msg_id", "")
                if kind == "status":
                    is_end = json.loads(content)["execution_state"] == "idle"
                    text = self._texts.pop(cell, None) if is_end else None
                    end = text.end() if text else []
                    return [*(self._parts(message, parent) for message in end), parts]
                if kind not in {"stream", "clear_output"}:
                    return [parts]
                text = self._texts.setdefault(cell, LongOutput(cell))
                told = json.loads(content)
                sent = text.take(kind, told, json.loads(metadata))
            except (ValueError, KeyError, TypeError, AttributeError):
                # Jupyter says what is wrong with it.
                return [parts]
            # As it came, if nothing is left out.
            return [
                parts if message["content"] is told else self._parts(message, parent)
                for message in sent
            ]

        def _parts(self, message: Message, parent: Message) -> list[Any]:
            made = self.session.msg(
                message["msg_type"], message["content"], parent, metadata=message["metadata"]
            )
            parts: list[Any] = self.session.serialize(made)
            return parts

    return ShortenedConnection
