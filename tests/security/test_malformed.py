"""Malformed requests to the portal's own handlers: refused in a sentence, never by a crash."""

import json
from typing import Any
from urllib.parse import quote

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.security.conftest import ATTACKER, VICTIM, LoggedIn, detail
from tests.support.portal_client import sessions_of

pytestmark = pytest.mark.cluster

# The same requests in every run; more are a matter of patience, not of other code.
FIXED = settings(
    max_examples=60,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
# A user without rights asks these, so that nothing is drained or stopped.
HUB_PATHS = (
    "api/dsportal/port",
    "api/dsportal/session",
    "api/dsportal/extend",
    "api/dsportal/users/{}/extend",
    "api/dsportal/users/{}/servers/{}/extend",
    "api/dsportal/status",
    "api/dsportal/drain",
    "api/dsportal/stop",
    "portal/choices/{}",
    "portal/stop/{}",
    "portal/stop/{}/{}",
    "portal/remove-session/{}",
    "portal/new-session",
    "portal/notices/read",
    "cluster",
    "cluster/stop/{}",
    "spawn-pending/{}",
)
SESSION_PATHS = (
    "tensorboards",
    "tensorboards/{}",
    "environments",
    "environments/own/{}/export",
    "environments/tasks",
    "environments/tasks/{}",
    "templates",
    "templates/copies",
    "jobs/preview",
    "jobs/{}",
    "jobs/{}/output",
    "tools",
    "session/history",
    "session/extension",
)
# A body that is right by chance would start something.
READ_ONLY = frozenset({"session/extension"})
names = st.one_of(
    st.sampled_from([ATTACKER, "..", ".", "%00", "0", "-1", "9" * 40, "a b", "<b>", "'", "root"]),
    st.text(min_size=1, max_size=20),
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["port", "name", "logdir", "logdirs", "gpus", "script", "path", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
bodies = st.one_of(values.map(lambda value: json.dumps(value).encode()), st.binary(max_size=200))
kinds = st.sampled_from([
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "multipart/form-data; boundary=x",
    "text/plain; charset=nowhere",
    "",
])  # fmt: skip
methods = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"])
queries = st.dictionaries(st.sampled_from(["gpus", "next", "lines", "job", "q"]), names, max_size=2)


def path_of(template: str, parts: list[str]) -> str:
    """Fill a path with names, encoded as a client does; what is encoded already stays so."""
    return template.format(*(quote(part, safe="%") for part in parts))


def expect_a_refusal_in_order(answer: requests.Response) -> None:
    """Expect anything but a crash."""
    assert answer.status_code < 500 or answer.status_code in {502, 503}, detail(answer)
    assert "Traceback" not in answer.text
    assert 'File "/' not in answer.text


@FIXED
@given(
    template=st.sampled_from(HUB_PATHS),
    parts=st.lists(names, min_size=2, max_size=2),
    method=methods,
    query=queries,
    body=bodies,
    kind=kinds,
)
def test_the_hubs_own_handlers_answer_malformed_requests(
    attacker: LoggedIn,
    template: str,
    parts: list[str],
    method: str,
    query: dict[str, str],
    body: bytes,
    kind: str,
) -> None:
    path = f"/hub/{path_of(template, parts)}"

    answer = attacker.ask(method, path, params=query, data=body, headers={"Content-Type": kind})

    expect_a_refusal_in_order(answer)


@FIXED
@given(gpus=values.filter(lambda value: not isinstance(value, int)), others=values)
def test_no_malformed_request_starts_a_session(attacker: LoggedIn, gpus: Any, others: Any) -> None:
    if isinstance(gpus, str) and gpus.strip().isdecimal():
        return
    wanted = {"gpus": ["", gpus], "x": others}

    answer = attacker.ask("POST", f"/hub/api/users/{ATTACKER}/server", json=in_json(wanted))

    assert 400 <= answer.status_code < 500, detail(answer)
    expect_a_refusal_in_order(answer)
    assert sessions_of(ATTACKER) == []


@FIXED
@given(
    template=st.sampled_from(SESSION_PATHS),
    parts=st.lists(names, min_size=2, max_size=2),
    method=methods,
    query=queries,
    body=bodies,
    kind=kinds,
)
def test_a_sessions_own_handlers_answer_malformed_requests(
    victim: LoggedIn,
    template: str,
    parts: list[str],
    method: str,
    query: dict[str, str],
    body: bytes,
    kind: str,
) -> None:
    if template in READ_ONLY:
        method = "GET"
    path = f"/user/{VICTIM}/portal/api/{path_of(template, parts)}"

    answer = victim.ask(method, path, params=query, data=body, headers={"Content-Type": kind})

    expect_a_refusal_in_order(answer)
    # Slurm and others may be away, but not the server itself.
    if answer.status_code in {502, 503}:
        assert victim.ask("GET", f"/user/{VICTIM}/api").ok, detail(answer)


def in_json(value: Any) -> Any:
    """Return a value that JSON can say: its numbers are finite."""
    return json.loads(json.dumps(value).replace("NaN", "0.5").replace("Infinity", "1e300"))
