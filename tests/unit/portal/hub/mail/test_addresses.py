"""What the hub keeps of users' addresses."""

import stat
from pathlib import Path

import pytest

from portal.hub.mail.addresses import AddressBook, Addresses
from portal.hub.settings.mail import MailSettings
from spawner.json_file import JsonFile


def book_in(folder: Path) -> AddressBook:
    return AddressBook(folder / "addresses.json")


def close(book: AddressBook) -> None:
    file: JsonFile = book._file
    file.close()


def test_they_survive_a_restart_in_a_file_that_nobody_else_reads(tmp_path: Path) -> None:
    book = book_in(tmp_path)
    book.change("ada", directory="ada@example.org")
    book.change("ada", chat="discord://1/2")
    close(book)

    assert book_in(tmp_path).of("ada") == Addresses(
        directory="ada@example.org", chat="discord://1/2"
    )
    assert stat.S_IMODE((tmp_path / "addresses.json").stat().st_mode) == 0o600


def test_nothing_is_kept_of_who_has_left(tmp_path: Path) -> None:
    book = book_in(tmp_path)
    book.change("ada", chat="discord://1/2")
    book.forget("ada")
    close(book)

    assert (tmp_path / "addresses.json").read_text() == "{}"


@pytest.mark.parametrize("damaged", ["", "[]", '{"ada": 3}', '{"ada": {"chat": 3, "x": "y"}}'])
def test_a_damaged_file_holds_no_addresses(tmp_path: Path, damaged: str) -> None:
    (tmp_path / "addresses.json").write_text(damaged)

    assert book_in(tmp_path).of("ada") == Addresses()


MAIL = {"server": "mail.example.org", "sender": "portal@example.org"}


@pytest.mark.parametrize(
    ("own", "directory", "address"),
    [
        ("ada.home@other.example", "ada.l@example.com", "ada.home@other.example"),
        ("ada@elsewhere.example", "ada.l@example.com", "ada.l@example.com"),
        ("", "", "ada@example.org"),
        ("", "ada,eve@example.com", "ada@example.org"),
    ],
)
def test_mail_goes_to_the_users_own_address_or_the_directorys_or_that_of_the_domain(
    own: str, directory: str, address: str
) -> None:
    settings = MailSettings(
        **MAIL,
        domain="example.org",
        ldap_attribute="mail",
        own_domains=("other.example",),
    )

    assert settings.address_of("ada", own=own, directory=directory) == address


@pytest.mark.parametrize("user", ["ada\nBcc: eve", "ada@example.com", "ada,eve", "a b", ""])
def test_a_name_adds_neither_a_header_nor_a_second_recipient(user: str) -> None:
    settings = MailSettings(**MAIL, domain="example.org")

    assert settings.address_of(user, own="", directory="") == ""


@pytest.mark.parametrize(
    "address",
    [
        "ada@elsewhere.example",
        "ada@other.example,eve@other.example",
        "ada@other.example\nBcc: eve@other.example",
        "ada@other.example@elsewhere.example",
        "Ada <ada@other.example>",
        "@other.example",
        "other.example",
    ],
)
def test_users_name_one_address_at_a_domain_of_the_site(address: str) -> None:
    settings = MailSettings(**MAIL, domain="example.org", own_domains=("other.example",))

    assert settings.why_not(address)
    assert settings.why_not("ada.home@OTHER.example") == ""
