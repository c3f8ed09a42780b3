"""Refuses a Python that is too old for the rest; this file itself runs on 3.6 or newer."""

import sys

OLDEST = (3, 11)


# The annotation is quoted, and nothing here is newer than 3.6: an old Python has to get as far as
# the message.
def refuse_older(command: str, version: "tuple[int, ...]" = sys.version_info[:2]) -> None:
    """Exit with a message if this Python is too old."""
    if version < OLDEST:
        here, oldest = (".".join(str(part) for part in each) for each in (version, OLDEST))
        sys.exit(
            f"{command} needs Python {oldest} or newer, and {sys.executable} is {here}.\n"
            f"What to do: run it with such a one, for instance 'python3.12 -B {command} ...'; "
            "deploy/site/install then needs --python with its path, too."
        )
