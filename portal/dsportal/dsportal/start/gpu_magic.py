"""`%gpu 2` moves the kernel of a notebook to GPUs of its own, in every Python kernel of a session.

The notebook server does it. A kernel asks it on the channel on which it publishes, and reads the
answers on its control channel, since it may run on another node than the server.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import argparse
import queue
import shlex
import uuid
from typing import Any

MESSAGE = "portal_gpus"
USAGE = (
    "%gpu shows what this kernel has. %gpu 2 asks for two GPUs, %gpu v100:2 --hours 3 for a type "
    "and a length, and %gpu 0 gives them back."
)
# The server of a session answers at once.
FIRST_ANSWER_S = 30
# So that an interrupt is noticed, and a question that was not heard is asked again.
LOOK_S = 1


class Moved(Exception):  # noqa: N818 - it is no error
    """The kernel ends: cells that wait behind this one shall not run in it."""

    def _render_traceback_(self):
        """Show the words alone."""
        return [str(self)]


class GpuMagic:
    """Asks the notebook server, and shows its answers.

    Args:
        kernel: That of ipykernel.
    """

    def __init__(self, kernel):
        self.kernel = kernel
        self.answers: queue.Queue[Any] = queue.Queue()
        kernel.control_handlers[MESSAGE] = self.take

    def take(self, stream, ident, parent):
        """Take an answer; called by the thread of the control channel.

        Args:
            stream: The channel.
            ident: Whose answer it is.
            parent: The answer.
        """
        self.answers.put(parent["content"])

    def show(self, line):
        """Show or change the GPUs of this kernel: %gpu, %gpu 2, %gpu v100:2 --hours 3, %gpu 0.

        Args:
            line: The rest of the line.

        Raises:
            UsageError: If the line is no such question, or the server refuses.
            Moved: If the kernel moves now.
        """
        from IPython.core.error import UsageError

        while not self.answers.empty():
            self.answers.get()
        asked = words_of(line)
        shown = None
        try:
            answer = self.first_answer(asked)
            while not answer["end"]:
                shown = update(shown, answer["text"])
                answer = self.next_answer()
        except queue.Empty:
            raise UsageError(
                "The notebook server of this session gave no answer. Only kernels that it has "
                "started itself can have GPUs of their own."
            ) from None
        except KeyboardInterrupt:
            self.ask(cancel=True)
            update(shown, "The request is cancelled. The kernel goes on as it is.")
            return
        if answer["end"] == "moving":
            raise Moved(answer["text"])
        if answer["end"] == "refused":
            raise UsageError(answer["text"])
        update(shown, answer["text"])

    def first_answer(self, asked):
        """Ask until the server answers: it may not listen yet to a kernel that has just started.

        Args:
            asked: What is asked.

        Raises:
            Empty: If it gives no answer.
        """
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
        """Send a question.

        Args:
            content: What is asked.
        """
        kernel = self.kernel
        kernel.session.send(
            kernel.iopub_socket,
            MESSAGE,
            content,
            parent=kernel.get_parent(),
            ident=MESSAGE.encode(),
        )


def register_magic(shell):
    """Register the magic in IPython's `shell`, where it is part of a kernel."""
    kernel = getattr(shell, "kernel", None)
    if hasattr(kernel, "control_handlers"):
        shell.register_magic_function(GpuMagic(kernel).show, "line", "gpu")


def words_of(line):
    """Return what a line asks for.

    Args:
        line: The rest of the line after `%gpu`.

    Raises:
        UsageError: If it is none of the ways in USAGE.
    """
    from IPython.core.error import UsageError

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("gpus", nargs="?", default="")
    parser.add_argument("--hours", default="")
    try:
        known, unknown = parser.parse_known_args(shlex.split(line))
    # An unclosed quote, and an option without its value.
    except (ValueError, SystemExit):
        unknown = [line]
    if unknown:
        raise UsageError(USAGE)
    return {"gpus": known.gpus, "hours": known.hours}


def update(shown, text):
    """Show a text in place of the one that is shown, and return the handle of the new one."""
    from IPython.display import display

    if shown is None:
        return display({"text/plain": text}, raw=True, display_id=True)
    shown.update({"text/plain": text}, raw=True)
    return shown
