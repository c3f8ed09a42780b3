"""The rules for what passes through this machine; tests/deploy tries them."""

from __future__ import annotations

import pytest

from deploy.one_machine.firewall import render_table, switched_on


def chain(table: str, name: str) -> list[str]:
    """Return the rules of one chain."""
    body = table.partition(f"chain {name} {{\n")[2].partition("}\n")[0]
    return [line.strip() for line in body.splitlines() if line.strip()]


def render(*, is_switched_on: bool = True) -> str:
    return render_table("eth0", ("10.1.2.3", "169.254.169.254"), is_switched_on=is_switched_on)


def test_nodes_leave_only_by_the_uplink_and_under_its_address() -> None:
    assert chain(render(), "from_nodes")[0] == 'oifname != "eth0" reject'
    assert 'ip saddr 10.77.0.0/24 oifname "eth0" masquerade' in chain(render(), "postrouting")


def test_of_link_local_addresses_nodes_reach_the_name_server_and_nothing_else() -> None:
    rules = chain(render(), "from_nodes")
    allowed = rules.index("ip daddr { 10.1.2.3, 169.254.169.254 } th dport 53 accept")

    assert allowed < rules.index("ip daddr 169.254.0.0/16 reject") < rules.index("accept")


def test_nodes_reach_the_machine_at_the_address_of_their_network_only() -> None:
    assert 'iifname "dspbridge" ip daddr != 10.77.0.1 reject' in chain(render(), "input")


def test_nobody_reaches_a_node_unasked() -> None:
    rules = chain(render(), "forward")

    assert 'oifname "dspbridge" drop' in rules
    assert rules.index('iifname "dspbridge" oifname "dspbridge" accept') == 1


@pytest.mark.parametrize("is_switched_on", [True, False])
def test_only_a_machine_that_forwarded_nothing_before_refuses_its_neighbours(
    is_switched_on: bool,
) -> None:
    rules = chain(render(is_switched_on=is_switched_on), "forward")

    assert ('iifname "eth0" drop' in rules) is is_switched_on


def test_what_was_switched_on_is_known_from_the_table_itself() -> None:
    assert switched_on(render()) == "eth0"
    assert switched_on(render(is_switched_on=False)) is None
    assert switched_on("") is None
