"""The magic `%ask`: puts a question to the site's language model, and shows its answer.

    %ask why does this fail?
    %ask --allow read_file list_jobs

The model gets the question and, if the cell before has failed, that cell and its error. The answer
is shown as plain text, which loads and runs nothing, and code in it comes into a new cell, which
its user runs or deletes. Where the site lets it, the model asks for tools: the user sees what each
would do, and says yes or no.
"""

import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from .conversation import Conversation
from .endpoint import Answer, AssistantError, Endpoint, Message, stream
from .tools import make_tools

_MOST_SHOWN = 6_000
_CODE = re.compile(r"^```(?:python|py)?[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def failed_cell(result: Any) -> str:
    """Return a cell that has failed and its error; "" if it has not failed.

    Args:
        result: IPython's ExecutionResult of the cell, or None.
    """
    error = result and (result.error_in_exec or result.error_before_exec)
    if not error:
        return ""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    text = f"{result.info.raw_cell[:_MOST_SHOWN]}\n\n{trace[-_MOST_SHOWN:]}"
    # Text in it could end the block.
    return re.sub(r"<(?=/?notebook>)", "&lt;", text)


def find_code(answer: str) -> str:
    """Return the first block of code in an answer; "" if there is none."""
    found = _CODE.search(answer)
    return found[1].strip() if found else ""


def load_ipython_extension(shell: Any) -> None:
    """Register `%ask` and `%%ask` in IPython's `shell`, which calls it for the first one."""
    from IPython.core.magic import no_var_expand

    conversation = Conversation()

    def ask(line: str, cell: str | None = None) -> None:
        """Ask the site's language model: %ask why does this fail?

        %ask --allow read_file  lets it do so unasked, in this kernel
        %ask --new              forgets the conversation and what was allowed
        """
        words = f"{line}\n{cell or ''}".strip()
        if words.split()[:1] == ["--allow"]:
            _allow(shell, conversation, words.split()[1:])
            return
        question = words.removeprefix("--new").strip()
        if words != question:
            conversation.forget()
            if not question:
                return
        shown = failed_cell(shell.last_execution_result)
        if not question and not shown:
            raise AssistantError("Write a question: %ask how do I read a Parquet file?")
        _converse(shell, conversation, question or "Why does this cell fail?", shown)

    # A question may hold braces, which IPython would replace by what they name.
    shell.register_magic_function(no_var_expand(ask), "line_cell", "ask")


def _allow(shell: Any, conversation: Conversation, names: Sequence[str]) -> None:
    known = [tool.name for tool in make_tools(shell)] if Endpoint.of(os.environ).has_tools else []
    if not known:
        raise AssistantError("The assistant of this site has no tools, so it does nothing.")
    if wrong := [name for name in names if name not in known]:
        raise AssistantError(f"There is no tool {wrong[0]}. Choose from {', '.join(known)}.")
    conversation.permission.allowed.update(names)
    allowed = ", ".join(sorted(conversation.permission.allowed)) or "nothing"
    print(f"Allowed in this kernel without a question: {allowed}. %ask --new ends that.")


def _converse(shell: Any, conversation: Conversation, question: str, shown: str) -> None:
    sent = "your question, the cell before and its error" if shown else "your question"
    # Anew each time: a key may have come.
    endpoint = Endpoint.of(os.environ)
    tools = make_tools(shell) if endpoint.has_tools else []
    print(f"[To {endpoint.host}: {sent}]\n")

    def ask(messages: Sequence[Message], answer: Answer) -> None:
        described = [tool.describe() for tool in tools]
        for part in stream(endpoint, messages, described, answer):
            sys.stdout.write(part)
            sys.stdout.flush()

    try:
        answer = conversation.turn(question, shown, tools, ask)
    except KeyboardInterrupt:
        print("\n[stopped]")
        return
    if code := find_code(answer):
        # Below this cell; nobody but its user runs it.
        shell.set_next_input(code)
