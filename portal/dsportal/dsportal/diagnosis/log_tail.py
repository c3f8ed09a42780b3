"""The end of a job's log, made safe to show: without tokens, colours and endless lines."""

import re
from collections.abc import Iterable

REMOVED = "[removed]"

_LONGEST_LINE = 500
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_SECRET_NAME = re.compile(r"token|secret|passw(or)?d|api_?key|crypt_?key|cookie", re.IGNORECASE)
# The look-behinds let a pattern begin only where a word does: a user's log may hold a megabyte
# without a space, and time must not grow with its square.
_NAME_AND_VALUE = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]+)(?P<between>[\"']?\s*[=:]\s*)"
    r"(?:\"[^\"\n]*\"|'[^'\n]*'|[\"']?[^\s\"'&;,]+)"
)
# An option of a command and the word after it, unless that is the next option.
_OPTION_AND_VALUE = re.compile(
    r"(?<![\w-])(?P<name>--?[\w-]+)(?P<between>[ \t]+)(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'-]\S*)"
)
_SECRETS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # HTTP: Authorization: Bearer abc; Authorization: token abc; Cookie: a=b; c=d.
        r"(?P<kept>\bauthorization[\"']?\s*[=:]\s*[\"']?(?:\w+\s+)?)(?P<secret>[^\s\"']+)",
        r"(?P<kept>\b(?:bearer|token)\s+)(?P<secret>[\w.~+/-]{16,}=*)",
        r"(?P<kept>\bcookie\s*:\s*)(?P<secret>.+)",
        # A password inside an address.
        r"(?P<kept>(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://[^\s/:@]*:)(?P<secret>[^\s/@]+)(?=@)",
        # Tokens that say whose they are: OpenAI, GitHub, GitLab, Hugging Face, Slack, Docker, PyPI.
        r"(?P<kept>)(?P<secret>(?<![\w-])(?:sk|gh[oprsu]|github_pat|glpat|hf|xox[a-z]|dckr_pat|pypi)"
        r"[-_][\w-]{16,})",
        # JSON Web Tokens.
        r"(?P<kept>)(?P<secret>(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*)",
        # JupyterHub's own tokens are 32 hexadecimal digits (jupyterhub.utils.new_token, 6.1).
        r"(?P<kept>)(?P<secret>\b[0-9a-f]{32,}\b)",
    )
)


def log_tail(text: str, n_lines: int = 30, *, secrets: Iterable[str] = ()) -> str:
    """Return the last lines of a log without secrets.

    Args:
        n_lines: Most lines to return, 1 or more.
        secrets: Values to remove wherever they appear, such as the session's token.

    Returns:
        The lines without blank ones at the end. Of a progress bar only its last state is kept;
        terminal colours and control characters are removed, and long lines are cut.
    """
    # Escapes go first: a colour inside a token would hide it from the patterns.
    safe = redact(_ESCAPE.sub("", text), secrets=secrets)
    lines = [_plain(line) for line in safe.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines[-n_lines:])


def redact(text: str, *, secrets: Iterable[str] = ()) -> str:
    """Return a text with `REMOVED` in place of tokens, passwords and cookies.

    Args:
        secrets: Values to remove wherever they appear. Those under 8 characters are ignored: they
            would take ordinary words with them.
    """
    # The longest first: a secret may contain another.
    for secret in sorted({s for s in secrets if len(s) >= 8}, key=len, reverse=True):
        text = text.replace(secret, REMOVED)
    for pattern in _SECRETS:
        text = pattern.sub(lambda match: match["kept"] + REMOVED, text)
    text = _OPTION_AND_VALUE.sub(_without_secret_value, text)
    return _NAME_AND_VALUE.sub(_without_secret_value, text)


def _without_secret_value(match: re.Match[str]) -> str:
    if _SECRET_NAME.search(match["name"]):
        return match["name"] + match["between"] + REMOVED
    return match[0]


def _plain(line: str) -> str:
    # A progress bar returns to the start of its line for each new state.
    last = line.rstrip("\r").rpartition("\r")[2]
    plain = "".join(c if c.isprintable() or c == "\t" else " " for c in last).rstrip()
    return plain if len(plain) <= _LONGEST_LINE else plain[:_LONGEST_LINE] + "…"
