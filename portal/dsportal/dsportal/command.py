"""The command `dsportal`: the portal's own where that is installed too, else that of a laptop."""

from collections.abc import Callable
from importlib.metadata import entry_points

# Of the portal's wheel. Not by its name: `portal` is that of other packages, too.
GROUP = "dsportal.command"


def main() -> int:
    """Run the command.

    Returns:
        Its exit code.
    """
    for portal in entry_points(group=GROUP):
        run: Callable[[], int] = portal.load()
        return run()
    from dsportal.laptop.cli import main as run_laptop

    return run_laptop()
