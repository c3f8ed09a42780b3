"""Which name servers the nodes can ask."""

from pathlib import Path

import pytest

from deploy.one_machine import resolver

MACHINES = """\
# made by somebody
search lab.example
options edns0
nameserver 127.0.0.53
nameserver 10.1.2.3
nameserver fe80::1%eth0
nameserver
nameserver 9.9.9.9
"""


def test_servers_of_the_machine_itself_and_of_ipv6_are_none_of_the_nodes() -> None:
    assert resolver.name_servers(MACHINES) == ("10.1.2.3", "9.9.9.9")


def test_the_nodes_search_where_the_machine_does() -> None:
    assert resolver.render_resolv_conf(MACHINES).splitlines() == [
        "search lab.example",
        "options edns0",
        "nameserver 10.1.2.3",
        "nameserver 9.9.9.9",
    ]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("RESOLV_CONF", "SYSTEMD_RESOLV_CONF", "NODES_RESOLV_CONF"):
        monkeypatch.setattr(resolver, name, tmp_path / name)
    return tmp_path


def test_behind_systemd_resolved_the_nodes_ask_the_servers_that_it_asks(files: Path) -> None:
    (files / "RESOLV_CONF").write_text("nameserver 127.0.0.53\n")
    (files / "SYSTEMD_RESOLV_CONF").write_text("nameserver 10.1.2.3\n")

    assert resolver.name_servers(resolver.machines_resolv_conf()) == ("10.1.2.3",)


def test_a_machine_without_name_servers_has_none_for_its_nodes(files: Path) -> None:
    assert resolver.name_servers(resolver.machines_resolv_conf()) == ()


def test_a_node_that_runs_sees_the_machines_new_name_servers(files: Path) -> None:
    (files / "RESOLV_CONF").write_text("nameserver 10.1.2.3\n")
    assert resolver.ensure_resolv_conf()
    assert not resolver.ensure_resolv_conf()
    mounted = (files / "NODES_RESOLV_CONF").stat().st_ino

    (files / "RESOLV_CONF").write_text("nameserver 10.4.5.6\n")
    assert resolver.ensure_resolv_conf()
    assert (files / "NODES_RESOLV_CONF").read_text() == "nameserver 10.4.5.6\n"
    assert (files / "NODES_RESOLV_CONF").stat().st_ino == mounted
