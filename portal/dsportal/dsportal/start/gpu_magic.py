"""`%gpu 2` moves the kernel of a notebook to GPUs of its own, in every Python kernel of a session.

The notebook server does it. A kernel asks it on the channel on which it publishes, and reads the
answers on its control channel, since it may run on another node than the server.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import argparse
import json
import queue
import shlex
import uuid
from typing import Any

from . import gpu_block, variables
from .gpu_block import BODY_USAGE

MESSAGE = "portal_gpus"
USAGE = (
    "%gpu shows what this kernel has. %gpu 2 asks for two GPUs, %gpu v100:2 --hours 3 for a type "
    "and a length, and %gpu 0 gives them back. With --fresh, variables stay behind."
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


class Failed(Exception):  # noqa: N818 - it is another one, of the other kernel
    """What the body of a cell has raised in the kernel with the GPUs."""

    def __init__(self, traceback):
        super().__init__(traceback[-1] if traceback else "")
        self.traceback = traceback

    def _render_traceback_(self):
        """Show the traceback of the other kernel."""
        return self.traceback


class GpuMagic:
    """Asks the notebook server, and shows its answers.

    Args:
        kernel: That of ipykernel.
    """

    def __init__(self, kernel):
        self.kernel = kernel
        self.answers: queue.Queue[Any] = queue.Queue()
        self.shown = None
        self.report = ""
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
        try:
            self.end(self.converse(words_of(line)))
        except KeyboardInterrupt:
            self.ask(cancel=True)
            self.say("The request is cancelled. The kernel goes on as it is.")

    def run(self, line, cell):
        """Run a cell on GPUs and give them back: %%gpu 2, or `with gpus(2):` as the whole cell.

        The kernel stays. Its variables go to another one with the GPUs, and come back.

        Args:
            line: The rest of the first line.
            cell: The other lines.

        Raises:
            UsageError: If the line names no GPUs, or the server refuses.
            Failed: If the cell has failed there.
        """
        from IPython.core.error import UsageError

        asked = words_of(line)
        if asked["gpus"] in {"", "0"}:
            raise UsageError(BODY_USAGE)
        self.end(self.converse({**asked, "body": cell}))

    def hold(self):
        """Let the server have the variables saved and the kernel moved, as a cell of its own.

        Raises:
            Moved: If the kernel moves now.
        """
        self.end(self.converse({"held": True}))

    def converse(self, asked):
        """Ask the server, do what it says, and return its last answer.

        Args:
            asked: What is asked.

        Raises:
            UsageError: If it gives no answer.
        """
        from IPython.core.error import UsageError

        while not self.answers.empty():
            self.answers.get()
        self.shown = None
        try:
            answer = self.first_answer(asked)
        except queue.Empty:
            raise UsageError(
                "The notebook server of this session gave no answer. Only kernels that it has "
                "started itself can have GPUs of their own."
            ) from None
        while not answer["end"]:
            try:
                self.follow(answer)
                answer = self.next_answer()
            except KeyboardInterrupt:
                if "body" not in asked:
                    raise
                # The server interrupts what runs there, or cancels the request, and says it.
                self.ask(cancel=True)
                answer = self.next_answer()
        return answer

    def follow(self, answer):
        """Do what the server says.

        Args:
            answer: Not its last one.
        """
        if "save" in answer:
            self.ask(reply=self.save(answer["save"]))
        elif "restore" in answer:
            self.restore(answer["restore"], None)
            self.ask(reply=json.loads(self.report))
        elif "publish" in answer:
            self.publish(*answer["publish"])
        else:
            self.say(answer["text"])

    def save(self, order):
        """Save the variables, and return what the server is told of it.

        Args:
            order: Arguments of `variables.save`.
        """
        try:
            return variables.save(self.kernel.shell, show=self.say, **order)
        except variables.TooMuchError as error:
            return {"refused": str(error)}

    def keep(self, order):
        """Save the variables for another kernel, and keep the report.

        Args:
            order: Arguments of `variables.save`.
        """
        self.report = json.dumps(self.save(order))

    def restore(self, folder, told):
        """Restore variables before the notebook runs a cell here, and keep the report.

        Args:
            folder: See `variables.restore`.
            told: See `variables.restore`.
        """
        self.report = json.dumps(variables.restore(self.kernel.shell, folder, told))

    def end(self, answer):
        """End the cell as the server says.

        Args:
            answer: Its last one.

        Raises:
            UsageError: If the server refuses.
            Moved: If the kernel moves now.
            Failed: If the body of the cell has failed there.
        """
        from IPython.core.error import UsageError

        if answer["end"] == "moving":
            raise Moved(answer["text"])
        if answer["end"] == "failed":
            raise Failed(answer["traceback"])
        if answer["end"] == "refused":
            raise UsageError(answer["text"])
        self.say(answer["text"])

    def say(self, text):
        """Show a text in place of the one that this conversation shows."""
        self.shown = update(self.shown, text)

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
        self.publish(MESSAGE, content)

    def publish(self, kind, content):
        """Send a message to all who listen, as one of the running cell.

        Args:
            kind: Of the message.
            content: Of the message.
        """
        kernel = self.kernel
        kernel.session.send(
            kernel.iopub_socket,
            kind,
            content,
            parent=kernel.get_parent(),
            ident=kind.encode(),
        )


def register_magic(shell):
    """Register the magic in IPython's `shell`, where it is part of a kernel."""
    kernel = getattr(shell, "kernel", None)
    if hasattr(kernel, "control_handlers"):
        # Also for cells of the notebook server.
        shell.portal_gpus = GpuMagic(kernel)
        shell.register_magic_function(shell.portal_gpus.show, "line", "gpu")
        shell.register_magic_function(shell.portal_gpus.run, "cell", "gpu")
        gpu_block.offer(shell)


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
    parser.add_argument("--fresh", action="store_true")
    try:
        known, unknown = parser.parse_known_args(shlex.split(line))
    # An unclosed quote, and an option without its value.
    except (ValueError, SystemExit):
        unknown = [line]
    if unknown:
        raise UsageError(USAGE)
    return {"gpus": known.gpus, "hours": known.hours, "fresh": known.fresh}


def update(shown, text):
    """Show a text in place of the one that is shown, and return the handle of the new one."""
    from IPython.display import display

    if shown is None:
        return display({"text/plain": text}, raw=True, display_id=True)
    shown.update({"text/plain": text}, raw=True)
    return shown
