"""The command `dsportal environments`, and where it makes environments."""

from pathlib import Path

from portal.cli import user_main


def environments(*words: str | Path) -> int:
    """Run the command in this process and return its exit status."""
    return user_main(["environments", *map(str, words)])


def folder_of(home: Path, name: str) -> Path:
    """Return the folder of an environment that was made in a home."""
    return home / ".local/share/data-scientist-portal/environments" / name
