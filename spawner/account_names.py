"""Which names of UNIX accounts and groups the portal can serve: the one definition of a name."""

import unicodedata

# A column of JupyterHub's database.
LONGEST = 255
# The name is an argument of sudo, for which "-" begins an option, "#" a number and "%" a group; "+"
# is a netgroup, "!" a negation, and "." and "~" are folders.
_NEVER_FIRST = "-#%+!.~"
# The first two separate fields of the system's own files, "," makes lists in Slurm, and "|" columns
# in its output. Paths of URLs and of files give the others a meaning of their own.
_NEVER = ":,|/\\%?\"'"


def objection(name: str) -> str:
    """Return why the portal cannot serve an account or a group, "" if it can.

    Whether it exists is another question: almost every name that a name service can hold is served.

    Returns:
        The end of a sentence that begins with the name: "begins with '-'".
    """
    if not name:
        return "is empty"
    if len(name) > LONGEST:
        return f"is longer than {LONGEST} characters"
    if name[0] in _NEVER_FIRST:
        return f"begins with '{name[0]}'"
    wrong = [one for one in name if one in _NEVER or one.isspace() or not one.isprintable()]
    if wrong:
        shown = f"'{wrong[0]}'" if wrong[0].isprintable() else repr(wrong[0])
        return f"has {'a space' if wrong[0].isspace() else shown} in it"
    # LDAP takes them for other letters: each spelling would be another name to guess passwords of.
    if unicodedata.normalize("NFKC", name).casefold() != name.lower():
        return "has letters in it that can be written in more than one way"
    return ""
