"""Names of Slurm: partitions, accounts, QOS, reservations, types of GPUs."""

_LONGEST = 255


def is_name(text: str) -> bool:
    """Return whether a text is one name as an option of sbatch.

    Whether Slurm knows it is for its own lists to say, which hold almost any text.
    """
    # A comma makes a list of names.
    is_one = text.isprintable() and "," not in text and not text.startswith("-")
    return is_one and text.strip() == text and 0 < len(text) <= _LONGEST
