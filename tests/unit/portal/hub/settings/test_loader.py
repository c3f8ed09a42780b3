"""What an administrator sees of portal.toml, right and wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest

from portal.hub.session_environment import session_settings
from portal.hub.settings.loader import Settings, load_settings
from portal.hub.settings.login import TlsMode
from spawner.client.storage import MOST_FOLDERS
from spawner.errors import SettingsError

Load = Callable[[str], Settings]


def change(toml: str, table: str, line: str) -> str:
    """Add a line to a table of the file, or the table with it."""
    head = f"[{table}]\n"
    return toml.replace(head, head + line + "\n") if head in toml else f"{toml}\n{head}{line}\n"


def test_the_smallest_file_lets_nobody_in_and_keeps_the_rule_of_8_cores_48_gib_and_8_hours(
    load: Load, minimal_toml: str
) -> None:
    settings = load(minimal_toml)

    assert not settings.login.admits_somebody
    assert settings.login.tls is TlsMode.STARTTLS
    assert settings.hub.public_port == 8000
    assert settings.hub.public_address == "127.0.0.1"
    assert settings.hub.trusted_proxies == ()
    assert list(settings.partitions) == ["jupyter"]
    resources = settings.resources
    assert (resources.cores_per_gpu, resources.memory_mib_per_gpu) == (8, 49152)
    assert (resources.walltime_s, resources.max_walltime_s) == (28800, 86400)


def test_half_an_hour_and_half_a_gib_are_whole_seconds_and_mib(
    load: Load, minimal_toml: str
) -> None:
    toml = change(minimal_toml, "resources", "session_hours = 0.5\nmemory_per_gpu_gib = 0.5")

    resources = load(toml).resources

    assert resources.walltime_s == 1800
    assert resources.memory_mib_per_gpu == 512


@pytest.mark.parametrize(
    ("table", "line", "words"),
    [
        pytest.param("hub", "adress = '1'", ["'adress'", "[hub]", "'address'"], id="misspelt key"),
        pytest.param("hub", "zzz = 1", ["'zzz'", "Valid keys: address, api_port"], id="no such"),
        pytest.param("hub", "allow_all = true", ["belongs in [login]"], id="key of another table"),
        pytest.param("partitions.jupyter", "x = 1", ["'x'", "cores_per_gpu"], id="partition"),
        pytest.param("choices", "opens = ['VSCode']", ["'VSCode'", "'VS Code'"], id="no page"),
        pytest.param("groups.students", "max_gpu = 1", ["'max_gpu'", "max_gpus"], id="limit"),
        pytest.param(
            "users.ada", 'partitions = ["jupiter"]', ["'jupiter'", "'jupyter'"], id="not offered"
        ),
        pytest.param("sites", "name = 'x'", ["[sites]", "'site'"], id="misspelt table"),
        pytest.param("hub", "public_port = '80'", ["public_port", "whole number"], id="text"),
        pytest.param(
            "hub", "public_port = true", ["public_port", "whole number"], id="bool as int"
        ),
        pytest.param(
            "hub",
            "subdomain_host = 'https://portal.example.com'",
            ["subdomain_host", "public_url", "both"],
            id="host names without public_url",
        ),
        pytest.param(
            "hub", "trusted_proxies = ['10.0.0.1/8']", ["trusted_proxies", "192.0.2.0/28"], id="net"
        ),
        *(
            pytest.param("hub", f"base_url = '{path}'", ["base_url", '"/jupyter/"'], id=path)
            for path in ("", "jupyter/", "/jupyter", "//", "/a//b/", "/../", "/%2f/", "/a b/")
        ),
        pytest.param(
            "hub", "public_url = 'https://x.org/jupyter/'", ["public_url", "base_url"], id="path"
        ),
        *(
            pytest.param("hubs", f"paths = {paths}", ["paths", "[hubs]"], id=f"hubs {paths}")
            for paths in ("['/a/']", "['/a/', '/a/']", "['/a/', '/']", "['/a/', '/b/']", "['a']")
        ),
        pytest.param("hub", "public_port = 8000.5", ["whole number"], id="fraction"),
        pytest.param("hub", "public_port = 0", ["public_port", "smallest value is 1"], id="port 0"),
        pytest.param("hub", "public_port = 70000", ["largest value is 65535"], id="high port"),
        pytest.param("hub", "public_port = 8081", ["api_port", "8081"], id="one port twice"),
        pytest.param("hub", "state_dir = 'hub'", ["state_dir", "absolute path"], id="relative"),
        pytest.param("hub", "admin_users = 'ada'", ["admin_users", "list of texts"], id="no list"),
        pytest.param("hub", "admin_users = ['Ada']", ["'Ada'", "small letters"], id="capital"),
        pytest.param("hub", "proxy_api_url = 'x'", ["proxy_api_url", "http://"], id="no URL"),
        pytest.param(
            "hub", "proxy_api_url = 'http://10.77.0.1:8001'", ["loopback"], id="open proxy"
        ),
        pytest.param("login", "tls = 'none'", ["'tls'", '"starttls" or "ldaps"'], id="plain LDAP"),
        pytest.param("login", "tls = 'ldaps'", ["ldaps://", "ldap://127.0.0.1:389"], id="scheme"),
        pytest.param(
            "login", "allow_all = true\nallowed_users = ['ada']", ["allow_all", "one or"], id="both"
        ),
        pytest.param("login", "connect_timeout_s = 0", ["smallest value is 0.1"], id="no time-out"),
        pytest.param("login", "answer_timeout_s = nan", ["must be a number"], id="nan"),
        pytest.param("resources", "cores_per_gpu = -1", ["cores_per_gpu", "1"], id="negative"),
        pytest.param(
            "resources", "session_hours = 48", ["session_hours", "max_session_hours"], id="too long"
        ),
        pytest.param("resources", "port_min = 40000", ["port_max", "port_min"], id="no ports"),
        pytest.param("storage.'a b'", "path = '/a'", ["'a b'", "valid name"], id="name of storage"),
        pytest.param("storage.templates", "path = '/a'", ["templates", "taken"], id="taken"),
        pytest.param("storage.isilon", "path = '/a'", ["isilon", "taken"], id="isilon as a table"),
        pytest.param("storage.a", "path = 'a'", ["'path'", "absolute"], id="storage without root"),
        pytest.param("storage.a", "label = 'x'", ["lacks the key 'path'"], id="storage nowhere"),
        pytest.param(
            "storage",
            "".join(f"[storage.s{n}]\npath = '/s{n}'\n" for n in range(7)),
            ["7 places", "6 are the most"],
            id="much storage",
        ),
        pytest.param("partitions.'-x'", "", ["partitions", "name of a partition"], id="option"),
    ],
)
def test_a_wrong_line_is_refused_and_the_sentence_names_file_key_and_cure(
    load: Load, minimal_toml: str, table: str, line: str, words: list[str]
) -> None:
    with pytest.raises(SettingsError) as refused:
        load(change(minimal_toml, table, line))

    message = str(refused.value)
    assert "portal.toml" in message
    for word in words:
        assert word in message


def test_six_tables_of_storage_with_isilon_are_as_many_as_the_home_page_can_ask_about(
    load: Load, minimal_toml: str
) -> None:
    tables = "".join(f"[storage.s{n}]\npath = '/s{n}'\n" for n in range(6))

    settings = load(change(minimal_toml, "storage", f"isilon = '/isilon'\n{tables}"))

    assert len(settings.site_storage) == 7
    assert len(settings.site_storage) + len(["home"]) == MOST_FOLDERS


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("servers", "[]", ["at least one"]),
        ("servers", "['127.0.0.1']", ["'127.0.0.1'", "ldap://host"]),
        ("servers", "['ldap://host/x?y']", ["ldap://host"]),
        ("user_dn_template", "['uid=ada']", ["{username} once"]),
        ("user_dn_template", "['uid={username},ou={x}']", ["no other braces"]),
        ("address", "'http://head:8081'", ["IP address or a host name"]),
    ],
)
def test_a_required_key_with_a_wrong_value_is_refused(
    load: Load, minimal_toml: str, key: str, value: str, words: list[str]
) -> None:
    lines = [
        f"{key} = {value}" if line.startswith(f"{key} =") else line
        for line in minimal_toml.splitlines()
    ]

    with pytest.raises(SettingsError) as refused:
        load("\n".join(lines))

    for word in [key, "portal.toml", *words]:
        assert word in str(refused.value)


@pytest.mark.parametrize("key", ["address", "servers", "ca_certificates", "user_dn_template"])
def test_a_required_key_that_is_left_out_is_named_and_explained(
    load: Load, minimal_toml: str, key: str
) -> None:
    lines = [line for line in minimal_toml.splitlines() if not line.startswith(f"{key} =")]

    with pytest.raises(SettingsError, match=f"lacks the key '{key}'. [A-Z]"):
        load("\n".join(lines))


def test_a_file_without_partitions_is_refused_with_the_line_to_add(
    load: Load, minimal_toml: str
) -> None:
    with pytest.raises(SettingsError, match=r"\[partitions.NAME\]"):
        load(minimal_toml.replace("[partitions.jupyter]", ""))


def test_a_file_that_is_not_toml_is_refused_with_the_line(load: Load) -> None:
    with pytest.raises(SettingsError, match=r"portal.toml is not TOML: .*line 2"):
        load("[hub]\naddress =\n")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "portal.toml"
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(SettingsError, match="is not TOML"):
        load_settings(path)


def test_a_missing_file_is_refused_with_the_command_that_writes_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="dsportal config example"):
        load_settings(tmp_path / "nothing.toml")


def test_a_key_outside_any_table_is_refused(load: Load, minimal_toml: str) -> None:
    with pytest.raises(SettingsError, match="outside any table"):
        load("name = 'x'\n" + minimal_toml)


def test_one_line_turns_vs_code_off(load: Load, minimal_toml: str) -> None:
    assert session_settings(load(minimal_toml))["vscode"]["enabled"]

    off = session_settings(load(minimal_toml + "[vscode]\nenabled = false\n"))

    assert not off["vscode"]["enabled"]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ('[vscode]\ngallery = "open-vsx.org"', "it must look like"),
        ('[tools.a]\ncommand = ["netron", "{port}"]', "absolute path of a program"),
        ('[tools.a]\ncommand = ["/n"]', r"must hold \{unix_socket\}, or one \{port\}"),
        ('[tools.a]\ncommand = ["/n", "{port}", "{unix_socket}"]', "must hold"),
        ("[tools.a]", "lacks the key 'command'"),
        ('[tools."A/.."]\ncommand = ["/n", "{port}"]', "is not a valid name"),
        ('[storage]\nsite_templates = ["course"]', "neither an absolute path nor"),
        ('[storage]\nsite_templates = ["ext::sh"]', "neither an absolute path nor"),
        ('[storage]\nsite_templates = ["https://u:p@h/a.git"]', "holds a password"),
        ('[git]\ncourse_hosts = ["https://git.example.org"]', "must look like"),
        ('[git]\ncourse_hosts = ["Git.example.org"]', "must look like"),
        ('[git]\ncourse_hosts = ["git.example.org:x"]', "must look like"),
        ('[environments]\nimage_binds = ["/a:/etc"]', "not an absolute path without"),
        *(
            (f'[s3]\nendpoint = "{url}"', "must look like https://s3.example.org")
            for url in ("s3.example.org", "ftp://a", "https://a/b", "https://u:p@a", "https://a?b")
        ),
        ('[s3]\nbuckets = ["arn:aws:s3:::lab"]', "not a name of a bucket"),
        ('[s3]\nbuckets = ["a..b"]', "not a name of a bucket"),
        ('[s3]\nregion = "eu/central"', "letters, digits"),
    ],
)
def test_wrong_tools_are_refused(load: Load, minimal_toml: str, table: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        load(f"{minimal_toml}\n{table}\n")
