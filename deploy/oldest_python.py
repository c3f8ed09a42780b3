"""Refuse a Python that is too old for the rest. This file itself is for every Python 3."""

import sys

OLDEST = (3, 11)


def refuse_older(command: str, version: "tuple[int, ...]" = sys.version_info[:2]) -> None:
    """End the program with a sentence where this Python is too old.

    Args:
        command: What was asked for, such as "deploy/site/install".
        version: Of this Python; another one only in tests.
    """
    if version < OLDEST:
        here, oldest = (".".join(str(part) for part in each) for each in (version, OLDEST))
        sys.exit(
            f"{command} needs Python {oldest} or newer, and {sys.executable} is {here}.\n"
            f"What to do: run it with such a one, for instance 'python3.12 -B {command} ...'; "
            "deploy/site/install then needs --python with its path, too."
        )
