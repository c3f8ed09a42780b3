"""`%gpu 2` moves the kernel of a notebook to GPUs of its own, in every Python kernel of a session.

The notebook server does it.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import json
import queue
import re

from . import gpu_block, variables
from .gpu_block import BODY_USAGE, words_of
from .gpu_talk import Talk
from .variable_writer import TooMuchError

# What Markdown does not take as it is.
MARKUP = re.compile(r"[\\`*_{}\[\]<>#|$~&]")


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
    """Asks the notebook server, and shows its answers."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.talk = Talk(kernel)
        self.shown = None
        self.report = ""

    def show(self, line: str) -> None:
        """Show or change the GPUs of this kernel: %gpu, %gpu 2, %gpu v100:2 --hours 3, %gpu 0."""
        try:
            self.end(self.converse(words_of(line)))
        except KeyboardInterrupt:
            self.talk.ask(cancel=True)
            self.say("The request is cancelled. The kernel goes on as it is.")

    def run(self, line: str, cell: str) -> None:
        """Run a cell on GPUs and give them back: %%gpu 2, or `with gpus(2):` as the whole cell.

        The kernel stays. Its variables go to another one with the GPUs, and come back.
        """
        from IPython.core.error import UsageError

        asked = words_of(line)
        if asked["gpus"] in {"", "0"}:
            raise UsageError(BODY_USAGE)
        self.end(self.converse({**asked, "body": cell}))

    def hold(self):
        """Let the server have the variables saved and the kernel moved, as a cell of its own."""
        self.end(self.converse({"held": True}))

    def converse(self, asked):
        """Ask the server what is `asked`, do what it says, and return its last answer."""
        from IPython.core.error import UsageError

        self.shown = None
        try:
            answer = self.talk.first_answer(asked)
        except queue.Empty:
            raise UsageError(
                "The notebook server of this session gave no answer. Only kernels that it has "
                "started itself can have GPUs of their own."
            ) from None
        while not answer["end"]:
            try:
                self.follow(answer)
                answer = self.talk.next_answer()
            except KeyboardInterrupt:
                if "body" not in asked:
                    raise
                # The server interrupts what runs there, or cancels the request, and says it.
                self.talk.ask(cancel=True)
                answer = self.talk.next_answer()
        return answer

    def follow(self, answer):
        """Do what the server says in an `answer` that is not its last one."""
        if "ask" in answer:
            self.talk.ask(reply={"yes": self.is_yes(answer["ask"])})
        elif "save" in answer:
            self.talk.ask(reply=self.save(answer["save"]))
        elif "restore" in answer:
            self.talk.ask(reply=self.restored(answer["restore"]))
        elif "publish" in answer:
            self.talk.publish(*answer["publish"])
        else:
            self.say(answer["text"])

    def save(self, order):
        """Save the variables, by an `order` for `variables.save`, and return a report."""
        try:
            return variables.save(self.kernel.shell, show=self.say, **order)
        except TooMuchError as error:
            return {"refused": str(error)}
        # The server waits for an answer, and holds the GPUs meanwhile.
        except Exception as error:
            return {"refused": f"The variables cannot be saved: {named(error)}."}

    def restored(self, folder):
        """Restore the variables in a `folder` in the middle of a cell, and return a report."""
        try:
            return variables.restore(self.kernel.shell, folder)
        # As above.
        except Exception as error:
            return {"refused": f"The variables cannot be restored: {named(error)}."}

    def is_yes(self, question: str) -> bool:
        """Ask the user, and return whether the answer is not no; where nobody can answer, it is."""
        from IPython.core.error import StdinNotImplementedError

        try:
            text = self.kernel.raw_input(f"{question} [Y/n] ")
        except StdinNotImplementedError:
            return True
        return not str(text).strip().lower().startswith("n")

    def keep(self, order):
        """Save the variables for another kernel, by an `order`, and keep the report."""
        self.report = json.dumps(self.save(order))

    def restore(self, folder, told):
        """Restore the variables in a `folder` before a cell, with what is `told`; keep a report."""
        self.report = json.dumps(variables.restore(self.kernel.shell, folder, told))

    def end(self, answer):
        """End the cell as the last `answer` of the server says."""
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


def register_magic(shell):
    """Register the magic in IPython's `shell`, where it is part of a kernel."""
    kernel = getattr(shell, "kernel", None)
    if hasattr(kernel, "control_handlers"):
        # Also for cells of the notebook server.
        shell.portal_gpus = GpuMagic(kernel)
        shell.register_magic_function(shell.portal_gpus.show, "line", "gpu")
        shell.register_magic_function(shell.portal_gpus.run, "cell", "gpu")
        gpu_block.offer(shell)


def update(shown, text):
    """Show a text in place of the one that is shown, and return the handle of the new one."""
    from IPython.display import display

    # Notebooks break lines of plain text within words.
    data = {"text/plain": text, "text/markdown": MARKUP.sub(r"\\\g<0>", text)}
    if shown is None:
        return display(data, raw=True, display_id=True)
    shown.update(data, raw=True)
    return shown


def named(error):
    """Return an `error` with its kind, in words."""
    return f"{type(error).__name__}: {error}"
