"""The rendezvous over real HTTP."""

import http.client
import os
import socket
import subprocess
from contextlib import closing

import pytest

from dsportal.rendezvous.store import MAX_VALUE_BYTES, Store


@pytest.fixture
def store():
    with Store() as store:
        yield store


def ask(store: Store, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(*store.address, timeout=5)
    try:
        connection.request(method, path, body=body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def horovod_path(store: Store, scope: str, key: str) -> str:
    """The path that Horovod asks for, given our address and port."""
    address, port = store.horovod_address
    url = f"http://{address}:{port}/{scope}/{key}"
    return "/" + url.split("/", 3)[3]


def test_a_value_is_absent_until_it_is_put(store):
    path = horovod_path(store, "global_", "0")

    assert ask(store, "GET", path)[0] == 404
    assert ask(store, "PUT", path, b"10.77.0.11:4711\0") == (200, b"")
    assert ask(store, "GET", path) == (200, b"10.77.0.11:4711\0")


def test_scopes_are_apart(store):
    ask(store, "PUT", horovod_path(store, "global_", "0"), b"a")

    assert ask(store, "GET", horovod_path(store, "local_node01", "0"))[0] == 404


def test_addresses_stay_until_every_rank_has_read_them(store):
    paths = [horovod_path(store, "global_", key) for key in "01"]
    for path in paths:
        ask(store, "PUT", path, b"address")

    assert ask(store, "DELETE", paths[0])[0] == 200
    assert ask(store, "GET", paths[0])[0] == 200
    assert ask(store, "DELETE", paths[1])[0] == 200
    assert ask(store, "GET", paths[0])[0] == 404


def test_horovod_finds_nothing_of_its_first_start_when_it_starts_again(store):
    # Each rank puts its host's name, too, and takes only its address back.
    keys = ("rank_0", "0", "rank_1", "1")
    paths = {key: horovod_path(store, "global_", key) for key in keys}
    for path in paths.values():
        ask(store, "PUT", path, b"of the first start")

    for rank in "01":
        ask(store, "DELETE", paths[rank])

    assert {ask(store, "GET", path)[0] for path in paths.values()} == {404}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("path", ["/global_/0", "/x:0/global_/0", "/", "/:0/global_/0", "//a/b"])
def test_without_the_secret_nothing_is_answered(store, method, path):
    ask(store, "PUT", horovod_path(store, "global_", "0"), b"address")

    assert ask(store, method, path, b"evil") == (403, b"")
    assert ask(store, "GET", horovod_path(store, "global_", "0")) == (200, b"address")


def test_a_path_without_a_key_is_refused(store):
    assert ask(store, "GET", f"/{store.secret}/global_")[0] == 400


def test_a_value_that_is_no_address_is_refused(store):
    path = horovod_path(store, "global_", "0")
    with closing(http.client.HTTPConnection(*store.address, timeout=5)) as connection:
        connection.putrequest("PUT", path)
        connection.putheader("Content-Length", str(MAX_VALUE_BYTES + 1))
        # The answer comes before the value, of which nothing is read.
        connection.endheaders()

        assert connection.getresponse().status == 413
    assert ask(store, "GET", path)[0] == 404


def test_other_methods_are_refused(store):
    assert ask(store, "PATCH", horovod_path(store, "global_", "0"), b"x")[0] == 501


def test_ranks_can_count_together(store):
    path = f"/{store.secret}/torch/count"

    assert ask(store, "POST", path, b"2") == (200, b"2")
    assert ask(store, "POST", path, b"3") == (200, b"5")
    assert ask(store, "POST", path, b"x")[0] == 400
    assert ask(store, "POST", "/wrong/torch/count", b"1")[0] == 403


def test_each_run_has_another_secret(store):
    with Store() as other:
        assert other.secret != store.secret
        assert len(other.secret) >= 43


def test_the_store_ends_with_the_run():
    with Store() as store:
        address = store.address

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=1)


def test_a_process_of_another_user_gets_403_even_with_the_secret():
    with Store(uid=os.getuid() + 1) as store:
        assert ask(store, "GET", horovod_path(store, "global_", "0")) == (403, b"")


@pytest.mark.skipif(os.getuid() != 0, reason="becoming another user needs root")
def test_a_real_other_user_of_the_node_gets_403(store):
    path = horovod_path(store, "global_", "0")
    ask(store, "PUT", path, b"address")
    program = (
        "import http.client, sys\n"
        "client = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]), timeout=5)\n"
        "client.request('GET', sys.argv[3])\n"
        "print(client.getresponse().status)\n"
    )
    host, port = store.address
    done = subprocess.run(
        ["/usr/bin/python3", "-c", program, host, str(port), path],
        user="nobody",
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        timeout=10,
    )

    assert done.stdout.strip() == "403"


def test_a_client_that_hangs_does_not_hold_up_the_others(store):
    with socket.create_connection(store.address):
        assert ask(store, "GET", horovod_path(store, "global_", "0"))[0] == 404


def test_numbers_of_two_scopes_are_apart(store):
    assert ask(store, "POST", f"/{store.secret}/torch/count", b"2") == (200, b"2")
    assert ask(store, "POST", f"/{store.secret}/other/count", b"3") == (200, b"3")
    assert ask(store, "GET", f"/{store.secret}/torch/count") == (200, b"2")


def test_the_notebook_sees_what_ranks_have_put_and_nothing_before(store):
    assert store.received("progress") == {}

    ask(store, "PUT", f"/{store.secret}/progress/0", b"10")

    ((key, (_, value)),) = store.received("progress").items()
    assert (key, value) == ("0", b"10")
