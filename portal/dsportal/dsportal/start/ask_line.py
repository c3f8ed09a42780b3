"""`%ask why does this fail?`: a line that ends with a question mark, which IPython takes for help.

`dsportal.assistant.magic` answers it.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import re

_LINE = re.compile(r"^(\s*)%ask\b[ \t]*(.*?)\s*$")
ANSWERED_BY = "dsportal.assistant.magic"


def register_magic(shell):
    """Offer the magic in IPython's `shell`; what answers it is loaded with the first question."""
    shell.magics_manager.register_lazy("ask", ANSWERED_BY)
    shell.input_transformers_cleanup.append(keep_questions)


def keep_questions(lines):
    """Return the lines of a cell in which IPython finds no help in questions to the model."""
    return [
        _LINE.sub(lambda found: _call(*found.groups()), line) + "\n" if _LINE.match(line) else line
        for line in lines
    ]


def _call(blanks, question):
    return f"{blanks}get_ipython().run_line_magic('ask', {question!r})"
