"""A kernel for Python 2 that needs nothing installed in the interpreter, such as Jython.

ipykernel for Python 2 ended with release 4.10; this kernel runs in the server's own Python and
hands each cell to the interpreter.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from ipykernel.kernelbase import Kernel

from dsportal.start.kernel_start import NotebookKernel

# Runs on Python 2 and 3. Each line to it is a cell, each line from it a JSON object; other lines
# are output of programs that a cell started.
_DRIVER = r"""
import sys
sys.path.remove("")  # No file of the user's takes the place of these.
import ast, json, traceback
sys.path.insert(0, "")

def put(**message):
    pipe.write(json.dumps(message) + "\n")
    pipe.flush()

class Stream(object):
    encoding = "utf-8"
    def __init__(self, name):
        self.name, self.text = name, u""
    def write(self, text):
        self.text += text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        if u"\n" in text:
            self.flush()
    def writelines(self, lines):
        for line in lines:
            self.write(line)
    def flush(self):
        if self.text:
            put(stream=self.name, text=self.text)
        self.text = u""
    def isatty(self):
        return False

def run(code):
    body = list(ast.parse(code, "<cell>").body)
    value = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    for node in body:
        tree = ast.parse("", "<cell>")
        tree.body = [node]
        eval(compile(tree, "<cell>", "exec"), names)
    if value is not None:
        names["_"] = eval(compile(ast.Expression(value.value), "<cell>", "eval"), names)
        if names["_"] is not None:
            put(value=repr(names["_"]))

pipe, names = sys.stdout, {"__name__": "__main__"}
source = sys.stdin
sys.stdout, sys.stderr = Stream("stdout"), Stream("stderr")
sys.stdin = open("/dev/null")
while True:
    line = source.readline()
    if not line:
        break
    try:
        run(json.loads(line))
    except:  # Java's own errors, too, of which Jython's BaseException is no parent.
        kind, error = sys.exc_info()[:2]
        put(error=kind.__name__, text=str(error), traceback=traceback.format_exc().splitlines())
    sys.stdout.flush()
    sys.stderr.flush()
    put(done=True)
"""
_LANGUAGE = {
    "name": "python",
    "version": "2.7",
    "mimetype": "text/x-python",
    "file_extension": ".py",
    "pygments_lexer": "python2",
    "codemirror_mode": {"name": "python", "version": 2},
}


class Python2Kernel(Kernel):
    """Hands cells to a Python 2 interpreter and relays its answers."""

    implementation = "dsportal-python2"
    implementation_version = "1"
    language_info = _LANGUAGE
    banner = "Python 2"
    interpreter: tuple[str, ...] = ()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._process: subprocess.Popen[str] | None = None

    async def do_execute(self, code: str, silent: bool, *_: Any, **__: Any) -> dict[str, Any]:
        """Return the reply of Jupyter's protocol to a cell, after running it."""
        reply: dict[str, Any] = {"status": "ok", "payload": [], "user_expressions": {}}
        for message in self._ask(code):
            if "error" in message:
                reply = _error_content(message)
            if not silent:
                self._show(message)
        return {**reply, "execution_count": self.execution_count}

    def do_shutdown(self, restart: bool) -> dict[str, Any]:
        """Return the reply of Jupyter's protocol to a shutdown, after killing the interpreter."""
        if self._process is not None:
            # It holds nothing that a cell has not written, and may be in the middle of one.
            self._process.kill()
            self._process.wait()
        return {"status": "ok", "restart": restart}

    def _ask(self, code: str) -> Iterator[dict[str, Any]]:
        """Yield the interpreter's messages about a cell."""
        process = self._running()
        try:
            _write_line(process, code)
            for message in _messages(process):
                if "done" in message:
                    return
                yield message
        # It had ended before it got the cell, which is reported below.
        except BrokenPipeError:
            pass
        status = process.wait()
        self._process = None
        text = f"{self.interpreter[0]} ended with status {status}. The next cell starts a new one."
        yield {"error": "InterpreterEnded", "text": text, "traceback": [text]}

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            # stderr stays the kernel's own, so errors of its start reach the session's log.
            self._process = subprocess.Popen(
                [*self.interpreter, "-c", _DRIVER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
        return self._process

    def _show(self, message: dict[str, Any]) -> None:
        if "stream" in message:
            content = {"name": message["stream"], "text": message["text"]}
            self.send_response(self.iopub_socket, "stream", content)
        elif "value" in message:
            data = {"text/plain": message["value"]}
            content = {"execution_count": self.execution_count, "data": data, "metadata": {}}
            self.send_response(self.iopub_socket, "execute_result", content)
        elif "error" in message:
            self.send_response(self.iopub_socket, "error", _error_content(message))


def _error_content(message: dict[str, Any]) -> dict[str, Any]:
    return {
        "status": "error",
        "ename": message["error"],
        "evalue": message["text"],
        "traceback": message["traceback"],
    }


def _write_line(process: subprocess.Popen[str], code: str) -> None:
    if process.stdin is not None:
        process.stdin.write(json.dumps(code) + "\n")
        process.stdin.flush()


def _messages(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    while line := _read_line(process):
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        yield message if isinstance(message, dict) else {"stream": "stdout", "text": line}


def _read_line(process: subprocess.Popen[str]) -> str:
    while process.stdout is not None:
        try:
            return process.stdout.readline()
        except KeyboardInterrupt:
            # The interpreter got the same signal, and its answer is still to come.
            continue
    return ""


def main() -> None:
    """Start the kernel; arguments: those of a kernel, then "--" and the interpreter's command."""
    cut = sys.argv.index("--")
    Python2Kernel.interpreter = tuple(sys.argv[cut + 1 :])
    NotebookKernel.launch_instance(argv=sys.argv[1:cut], kernel_class=Python2Kernel)
