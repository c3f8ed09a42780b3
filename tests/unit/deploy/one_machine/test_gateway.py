"""Why the nodes have a way to the internet, or none, and its rules; tests/deploy tries it."""

from pathlib import Path

import pytest

from deploy.common.errors import CommandError
from deploy.one_machine import gateway
from deploy.one_machine.gateway import (
    Gateway,
    NoWayError,
    parse_device,
    render_table,
)
from tests.unit.deploy.one_machine.clusters import SIMULATED


@pytest.mark.parametrize(
    ("route", "device"),
    [
        ("192.0.2.1 via 10.0.2.2 dev eth0 src 10.0.2.15 uid 0 \n    cache \n", "eth0"),
        ("192.0.2.1 dev wg0 table 51820 src 10.9.0.2 uid 0 \n    cache \n", "wg0"),
    ],
)
def test_the_uplink_is_the_device_of_the_route(route: str, device: str) -> None:
    assert parse_device(route) == device


@pytest.mark.parametrize("route", ["", "local 192.0.2.1 dev lo src 192.0.2.1 uid 0 \n"])
def test_a_route_that_leads_nowhere_is_none(route: str) -> None:
    with pytest.raises(NoWayError, match="leads nowhere"):
        parse_device(route)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the commands that are run; none has anything to say."""
    commands: list[list[str]] = []

    def run(argv: list[str], **_: object) -> str:
        commands.append(argv)
        if argv[:4] == ["ip", "-4", "route", "get"]:
            raise CommandError(argv, 2, "RTNETLINK answers: Network is unreachable\n")
        return ""

    monkeypatch.setattr(gateway, "run", run)
    return commands


def test_a_machine_without_internet_is_no_failure_and_its_nodes_have_none(
    ran: list[list[str]],
) -> None:
    way = Gateway(SIMULATED.nodes)

    assert way.ensure() == "none: This machine has no route to the internet for IPv4."
    assert way.refusal == "This machine has no route to the internet for IPv4."
    assert not any("masquerade" in word or "replace" in word for argv in ran for word in argv)


def test_who_wants_no_internet_is_not_asked_for_a_route(ran: list[list[str]]) -> None:
    assert Gateway(SIMULATED.nodes, is_wanted=False).ensure() == "none: --offline-nodes was given."
    assert ["ip", "-4", "route", "get", gateway.ON_THE_INTERNET] not in ran


class ReadOnly:
    """The switch of a network device where /proc/sys is read-only, as in many containers."""

    def read_text(self) -> str:
        return "0\n"

    def write_text(self, _: str) -> int:
        raise OSError(30, "Read-only file system")


def test_a_machine_that_lets_root_switch_nothing_on_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = [""]

    def run(argv: list[str], *, stdin: str = "") -> str:
        if stdin:
            tables.append(stdin)
        elif argv[:2] == ["nft", "delete"]:
            tables.append("")
        return tables[-1]

    monkeypatch.setattr(gateway, "run", run)
    monkeypatch.setattr(gateway, "find_uplink", lambda: "eth0")
    monkeypatch.setattr(gateway, "machines_resolv_conf", lambda: "nameserver 10.1.2.3\n")
    monkeypatch.setattr(gateway, "_forwarding", lambda _: ReadOnly())
    monkeypatch.setattr(gateway.shutil, "which", lambda *_, **__: Path("/usr/sbin/nft"))

    assert Gateway(SIMULATED.nodes).ensure() == "none: [Errno 30] Read-only file system"
    assert tables[-1] == ""


def test_without_a_name_server_that_nodes_can_ask_they_have_no_way(
    monkeypatch: pytest.MonkeyPatch, ran: list[list[str]]
) -> None:
    monkeypatch.setattr(gateway, "find_uplink", lambda: "eth0")
    monkeypatch.setattr(gateway, "machines_resolv_conf", lambda: "nameserver 127.0.0.1\n")

    assert "No name server in /etc/resolv.conf" in Gateway(SIMULATED.nodes).ensure()
    assert not any("replace" in argv for argv in ran)


def test_the_last_words_of_what_failed_are_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise CommandError(["nft", "-f", "-"], 1, "x\nOperation not permitted\n")

    monkeypatch.setattr(gateway, "find_uplink", refuse)
    monkeypatch.setattr(gateway, "close", lambda _: None)

    assert Gateway(()).ensure() == "none: Operation not permitted"


def chain(table: str, name: str) -> list[str]:
    """Return the rules of one chain."""
    body = table.partition(f"chain {name} {{\n")[2].partition("}\n")[0]
    return [line.strip() for line in body.splitlines() if line.strip()]


def render(*, is_switched_on: bool = True) -> str:
    return render_table("eth0", ("10.1.2.3", "169.254.169.254"), is_switched_on=is_switched_on)


def test_of_link_local_addresses_nodes_reach_the_name_server_and_nothing_else() -> None:
    rules = chain(render(), "from_nodes")
    allowed = rules.index("ip daddr { 10.1.2.3, 169.254.169.254 } th dport 53 accept")

    assert allowed < rules.index("ip daddr 169.254.0.0/16 reject") < rules.index("accept")
