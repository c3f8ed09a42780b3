"""Names that the portal serves are those of the name service, but for what others take apart."""

import pytest

from spawner.account_names import LONGEST, objection


@pytest.mark.parametrize(
    "name",
    [
        *("ada", "1234567", "0day", "jane.doe", "_svc", "s-2019_x", "jane@corp.example", "a+b"),
        *("node$", "ünal", "GPU-Users", "x" * LONGEST),
    ],
)
def test_names_that_accounts_have_are_served(name: str) -> None:
    assert objection(name) == ""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "is empty"),
        ("-rf", "begins with '-'"),
        ("#0", "begins with '#'"),
        ("%wheel", "begins with '%'"),
        ("+netgroup", "begins with '+'"),
        ("..", "begins with '.'"),
        ("~root", "begins with '~'"),
        ("LAB\\jane", "has '\\' in it"),
        ("a/../b", "has '/' in it"),
        ("a:b", "has ':' in it"),
        ("ada,grace", "has ',' in it"),
        ("a|b", "has '|' in it"),
        ("50%41", "has '%' in it"),
        ("jane doe", "has a space in it"),
        ("a\u00a0b", "has a space in it"),
        ("ada\0", "has '\\x00' in it"),
        ("x" * (LONGEST + 1), f"is longer than {LONGEST} characters"),
    ],
)
def test_a_name_that_sudo_slurm_or_a_path_takes_apart_is_not(name: str, why: str) -> None:
    assert objection(name) == why


@pytest.mark.parametrize("name", ["\uff41da", "\ufb01sher", "stra\u00dfe", "a\u0308da"])
def test_no_two_spellings_are_one_entry_of_ldap(name: str) -> None:
    assert objection(name) == "has letters in it that can be written in more than one way"
