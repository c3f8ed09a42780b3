"""What a kernel asks the notebook server about its GPUs, and the answers.

A kernel asks on the channel on which it publishes, and reads the answers on its control channel,
since it may run on another node than the server.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import queue
import uuid
from typing import Any

MESSAGE = "portal_gpus"
# The server of a session answers at once.
FIRST_ANSWER_S = 30
# So that an interrupt is noticed, and a question that was not heard is asked again.
LOOK_S = 1


class Talk:
    """The kernel's side of it."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.answers: queue.Queue[Any] = queue.Queue()
        kernel.control_handlers[MESSAGE] = self.take

    def take(self, stream, ident, parent):
        """Take an answer, `parent`; the control channel gives its `stream` and an `ident`, too."""
        self.answers.put(parent["content"])

    def first_answer(self, asked):
        """Ask what is `asked` until the server answers, which may not listen yet to a new kernel.

        Raises:
            Empty: If it gives no answer.
        """
        while not self.answers.empty():
            self.answers.get()
        question = uuid.uuid4().hex
        for _ in range(FIRST_ANSWER_S // LOOK_S - 1):
            self.ask(question=question, **asked)
            try:
                return self.answers.get(timeout=LOOK_S)
            except queue.Empty:
                continue
        return self.answers.get(timeout=LOOK_S)

    def next_answer(self):
        """Wait for the next answer, however long that takes."""
        while True:
            try:
                return self.answers.get(timeout=LOOK_S)
            except queue.Empty:
                continue

    def ask(self, **content):
        """Send a question with this `content`."""
        self.publish(MESSAGE, content)

    def publish(self, kind, content):
        """Send `content` of a `kind` to all who listen, as a message of the running cell."""
        kernel = self.kernel
        kernel.session.send(
            kernel.iopub_socket,
            kind,
            content,
            parent=kernel.get_parent(),
            ident=kind.encode(),
        )
