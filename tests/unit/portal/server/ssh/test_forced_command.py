"""What a login finds."""

import pytest

from portal.server.ssh.forced_command import greeting, login_environment


def test_the_session_decides_but_for_what_belongs_to_the_connection() -> None:
    sshd = {"PATH": "/usr/bin", "TERM": "xterm", "SSH_TTY": "/dev/pts/3", "LD_PRELOAD": "x"}

    environ = login_environment({"PATH": "/opt/a:/usr/bin", "TERM": "dumb", "HOME": "/h"}, sshd)

    assert environ == {
        "PATH": "/opt/a:/usr/bin",
        "TERM": "xterm",
        "SSH_TTY": "/dev/pts/3",
        "HOME": "/h",
    }


@pytest.mark.parametrize(
    ("left_s", "words"),
    [(27600, "7 h 40 min"), (28800, "8 h"), (150, "2 min"), (0, "0 min"), (-5, "0 min")],
)
def test_a_terminal_begins_with_the_time_that_is_left(left_s: int, words: str) -> None:
    assert f"ends in {words}, and this connection with it" in greeting(1000.0 + left_s, 1000.0)


def test_a_session_without_a_limit_still_says_where_one_is() -> None:
    assert greeting(None, 1000.0) == "You are in your session. This connection ends with it."
