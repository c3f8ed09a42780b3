"""The described API is valid, and is that of hub and session: no route more, and no route less."""

import re

from docs import make_rest
from spawner import __version__
from tests.security.api import is_of_api, template
from tests.security.rules import HUB, READERS, SESSION_ANYBODY, SESSION_OWNER

SPEC = make_rest.read_spec()
ROUTES = {
    *(template(pattern) for pattern in HUB),
    *(template(pattern, "/user/{}") for pattern in SESSION_ANYBODY | SESSION_OWNER | READERS),
}
DESCRIBED = {re.sub(r"\{\w+\}", "{}", path) for path in SPEC["paths"]}


def test_a_public_validator_accepts_it() -> None:
    # Only here: its import takes as long as all other tests of this file.
    from openapi_spec_validator import validate

    validate(SPEC)
    assert SPEC["info"]["version"] == __version__


def test_every_route_is_described() -> None:
    missing = {route for route in ROUTES if is_of_api(route)} - DESCRIBED

    assert missing == set(), "describe them in docs/reference/openapi.yml"


def test_every_description_has_a_route() -> None:
    assert set() == DESCRIBED - ROUTES


def test_operations_have_names_of_their_own_and_a_group() -> None:
    operations = [operation for _, _, operation in make_rest.operations(SPEC)]
    names = [one["operationId"] for one in operations]

    assert len(set(names)) == len(names) > 80
    known = {tag["name"] for tag in SPEC["tags"]}
    assert [one["operationId"] for one in operations if not known.issuperset(one["tags"])] == []


def test_the_page_is_up_to_date() -> None:
    assert make_rest.PAGE.read_text() == make_rest.page(SPEC), "run docs/make_rest.py"
