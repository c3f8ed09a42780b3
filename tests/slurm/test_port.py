"""The port callback of a session whose server has not reported yet."""

from collections.abc import Iterator

import pytest

from tests.slurm.conftest import USER, session_token, sessions, start
from tests.support.eventually import eventually
from tests.support.private_hub import PrivateHub

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"port": "30000"}, 400),
        ({"port": 22}, 400),
        ({"port": 10**30}, 400),
        ({"port": 30000, "exec_prefix": ""}, 400),
        ("x" * 5000, 400),
    ],
    ids=lambda value: str(value)[:40],
)
def test_the_port_callback_takes_nothing_but_one_integer_in_the_range(
    waiting_session: tuple[PrivateHub, str], body: object, status: int
) -> None:
    hub, token = waiting_session

    answer = hub.rest("POST", "/dsportal/port", body, token=token)

    assert answer.status_code == status
    assert "Traceback" not in answer.text
    assert hub.session(USER)["port"] == 0


@pytest.fixture(scope="module")
def waiting_session(module_hub: PrivateHub) -> Iterator[tuple[PrivateHub, str]]:
    """A session whose server has not reported yet, and its token."""
    module_hub.start(wait_s=300)
    module_hub.rest("POST", f"/users/{USER}")
    start(module_hub)
    token = eventually(session_token, timeout_s=20)
    yield module_hub, token
    module_hub.rest("DELETE", f"/users/{USER}/server")
    eventually(lambda: not sessions(), timeout_s=20)


def test_only_the_sessions_own_token_may_report_a_port(
    waiting_session: tuple[PrivateHub, str],
) -> None:
    hub, _ = waiting_session
    of_user = hub.rest("POST", f"/users/{USER}/tokens", {"expires_in": 60}).json()["token"]

    assert hub.rest("POST", "/dsportal/port", {"port": 30000}, token=of_user).status_code == 403
    assert hub.rest("POST", "/dsportal/port", {"port": 30000}).status_code == 403
    assert hub.rest("POST", "/dsportal/port", {"port": 30000}, token="0" * 32).status_code == 403
    assert hub.session(USER)["port"] == 0


def test_the_handler_of_batchspawner_is_not_there(waiting_session: tuple[PrivateHub, str]) -> None:
    hub, token = waiting_session
    attack = {"exec_prefix": "", "batch_query_cmd": "id"}

    assert hub.rest("POST", "/batchspawner", attack, token=token).status_code == 404
