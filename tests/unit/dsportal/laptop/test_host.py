"""A host of ssh that stands for a session."""

from pathlib import Path

import pytest

from dsportal.laptop.host import (
    Host,
    LaptopError,
    home_of,
    parse_url,
    stanza,
    with_stanza,
    write_private,
)

HOST = Host("gpu-session", "https://portal.example.com")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://portal.example.com", "https://portal.example.com"),
        ("https://portal.example.com:8443/hub/token", "https://portal.example.com:8443"),
        ("https://example.com/gpus/hub/home ", "https://example.com/gpus"),
        ("https://example.com/gpus/user/ada/lab", "https://example.com/gpus"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
    ],
)
def test_any_page_of_the_portal_leads_to_it(text: str, url: str) -> None:
    assert parse_url(text) == url


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("portal.example.com", "https:// in front"),
        ("ftp://portal.example.com", "https:// in front"),
        ("http://portal.example.com", "no TLS"),
    ],
)
def test_what_would_show_the_token_to_others_is_refused(text: str, words: str) -> None:
    with pytest.raises(LaptopError, match=words):
        parse_url(text)


@pytest.mark.parametrize("name", ["", ".", "../x", "a/b", "/etc", "a b", "a\nHost *", "-x", "é"])
def test_a_name_leads_nowhere_else(name: str) -> None:
    with pytest.raises(LaptopError, match="cannot be a host's name"):
        home_of(name)


def test_ssh_asks_nothing_and_takes_no_other_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada lovelace")

    lines = stanza(HOST, "ada", command=("/usr/bin/python3", "/a/x.pyz")).splitlines()

    assert lines[1] == "Host gpu-session"
    assert '    ProxyCommand "/usr/bin/python3" "/a/x.pyz" proxy gpu-session' in lines
    assert f'    IdentityFile "{home_of("gpu-session")}/key"' in lines
    assert "    StrictHostKeyChecking yes" in lines
    assert "    IdentitiesOnly yes" in lines
    assert "    User ada" in lines


def test_another_setup_replaces_the_lines_of_its_name_and_leaves_all_others() -> None:
    mine = "Host *\n    ForwardAgent yes\n"

    def lines(name: str, user: str) -> str:
        host = Host(name, "https://portal.example.com")
        return stanza(host, user, command=("p", "s"))

    config = with_stanza(mine, "gpu-session", lines("gpu-session", "ada"))
    config = with_stanza(config, "first", lines("first", "ada"))
    config = with_stanza(config, "gpu-session", lines("gpu-session", "grace"))

    assert config.count("Host gpu-session\n") == config.count("Host first\n") == 1
    assert "User grace" in config
    assert config.rstrip().endswith(mine.rstrip())


def test_only_the_owner_reads_what_is_kept(tmp_path: Path) -> None:
    write_private(tmp_path / "token", "a")
    write_private(tmp_path / "token", "b")

    assert [path.name for path in tmp_path.iterdir()] == ["token"]
    assert (tmp_path / "token").read_text() == "b"
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
