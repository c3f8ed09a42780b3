"""Who holds the ports of a node, from the kernel's table to the hub's log."""

import os
import pwd
from pathlib import Path

import pytest

from spawner.node.singleuser import PortsTakenError, bind_port
from spawner.taken_ports import (
    NEXT_STEP,
    TAKES_ANOTHER,
    describe_taken,
    ended_for_ports,
    find_taken,
    port_owners,
)

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
ROOT = pwd.getpwuid(os.getuid()).pw_name


def line(port: int, uid: int, state: str = "0A") -> str:
    return f"   0: 0B4D0A0A:{port:04X} 00000000:0000 {state} 00000000:00000000 00:0 0 {uid} 0 1\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "tcp"
    ports = "".join(line(port, 54321) for port in range(30000, 30098))
    path.write_text(
        HEAD + ports + line(30098, 0) + line(30099, 0, "06") + line(31000, 7) + line(29999, 7)
    )
    return tmp_path


def test_ports_of_the_range_are_counted_by_user(table: Path) -> None:
    assert port_owners(30000, 30099, table) == {54321: 98, 0: 1}


def test_who_holds_most_is_named_first(table: Path) -> None:
    text = describe_taken("10.77.0.11", 30000, 30099, table)

    assert text == (
        "No port from 30000 to 30099 is free on 10.77.0.11: uid 54321 holds 98, "
        "root (uid 0) holds 1."
    )


def test_ports_that_nobody_listens_on_are_said_to_be_so(tmp_path: Path) -> None:
    text = describe_taken("10.77.0.11", 30000, 30000, tmp_path / "missing")

    assert text.endswith("is free on 10.77.0.11: nobody listens there.")


def test_a_session_takes_another_port_where_the_site_allows_it() -> None:
    with bind_port("127.0.0.1", 30000, 32000) as sock:
        port = sock.getsockname()[1]
        with bind_port("127.0.0.1", port, port, any_port=True) as other:
            assert other.getsockname()[1] not in {0, port}


def test_a_session_that_may_not_names_who_holds_them() -> None:
    with bind_port("127.0.0.1", 30000, 32000) as sock:
        port = sock.getsockname()[1]
        with pytest.raises(PortsTakenError, match=rf"{ROOT} \(uid {os.getuid()}\) holds 1\."):
            bind_port("127.0.0.1", port, port)


def test_the_hub_finds_the_sentence_in_a_sessions_log() -> None:
    sentence = "No port from 30000 to 32767 is free on 10.77.0.11: uid 7 holds 2768."
    goes_on = f"[W 12:00 dsportal] {sentence} {TAKES_ANOTHER}\n[I 12:00 dsportal] Listening"
    ended = f"[I 12:00 dsportal] a line\n[E 12:00 dsportal] {sentence} {NEXT_STEP}"

    assert find_taken(goes_on) == sentence
    assert find_taken(ended) == sentence
    assert find_taken("nothing of that") == ""
    assert ended_for_ports(ended) == sentence
    assert ended_for_ports(goes_on) == ""
    assert ended_for_ports("") == ""
