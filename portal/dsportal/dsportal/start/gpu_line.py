"""What a line asks for: `%gpu v100:2 --hours 3`."""
# mypy: allow-untyped-defs, allow-untyped-calls

import argparse
import shlex

USAGE = (
    "%gpu shows what this kernel has. %gpu 2 asks for two GPUs, %gpu v100:2 --hours 3 for a type "
    "and a length, and %gpu 0 gives them back. With --variables never, variables stay behind."
)


def words_of(line):
    """Return what a line asks for."""
    from IPython.core.error import UsageError

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("gpus", nargs="?", default="")
    parser.add_argument("--hours", default="")
    parser.add_argument("--variables", default="")
    try:
        known, unknown = parser.parse_known_args(shlex.split(line))
    # An unclosed quote, and an option without its value.
    except (ValueError, SystemExit):
        unknown = [line]
    if unknown:
        raise UsageError(USAGE)
    return vars(known)
