"""A server that streams as OpenAI's does, and says what a hostile model would."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.testing.globalipapp import get_ipython as start_ipython

from dsportal.assistant import endpoint
from dsportal.start import ask_line
from tests.support.stand_in_server import Handler, serving


def called(tool: str, **arguments: Any) -> dict[str, Any]:
    """Return a call of a tool, as a model asks for it."""
    return {"name": tool, "arguments": json.dumps(arguments)}


@dataclass
class Model:
    """What the server answers, one after the other and then the last, and what it was asked."""

    url: str = ""
    answers: list[str | list[dict[str, Any]]] = field(default_factory=lambda: ["Use pandas."])
    status: int = 200
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def told(self) -> str:
        """What it was told last: a question, or what a tool returned."""
        return str(self.asked[-1]["messages"][-1]["content"])

    def parts(self) -> list[dict[str, Any]]:
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, str):
            return [{"content": part} for part in answer.splitlines(keepends=True)]
        parts: list[dict[str, Any]] = []
        for index, call in enumerate(answer):
            function = {**call, "arguments": ""}
            parts.append({"index": index, "id": f"call-{index}", "function": function})
            # In pieces, as servers send them.
            parts += [
                {"index": index, "function": {"arguments": each}}
                for each in re.findall(r"(?s).{1,5}", call["arguments"])
            ]
        return [{"content": None, "tool_calls": [part]} for part in parts]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    served = Model()

    class OfModel(Handler):
        def do_POST(self) -> None:
            served.asked.append(self.read_json())
            served.headers.append(dict(self.headers))
            self.send_response(served.status)
            if served.status == 302:
                self.send_header("Location", f"{served.url}/elsewhere")
            self.end_headers()
            if served.status != 200:
                return
            self.wfile.write(b": a comment\n\n")
            for part in served.parts():
                self.wfile.write(f"data: {json.dumps({'choices': [{'delta': part}]})}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), OfModel)) as server:
        served.url = f"http://127.0.0.1:{server.server_port}/v1"
        monkeypatch.setenv(endpoint.URL, served.url)
        monkeypatch.setenv(endpoint.MODEL, "small")
        monkeypatch.delenv(endpoint.KEY, raising=False)
        yield served


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shell() -> InteractiveShell:
    shell: InteractiveShell = start_ipython() or InteractiveShell.instance()
    ask_line.register_magic(shell)
    shell.run_cell("%ask --new")
    return shell
