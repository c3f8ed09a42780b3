"""What a login form may hold."""

from types import SimpleNamespace
from typing import Any

import pytest

from portal.hub.auth.credentials import Credentials, UnservedNameError, read_credentials


def read(name: str, password: str = "secret") -> Credentials | None:
    form = {"username": name, "password": password}
    request: Any = SimpleNamespace(
        body_arguments={key: [value.encode()] for key, value in form.items()}
    )
    return read_credentials(request, form, str.lower)


@pytest.mark.parametrize("name", ["1234567", "0day", "ada", "a" * 200])
def test_a_name_is_taken_as_the_cluster_has_it(name: str) -> None:
    assert read(name) == Credentials(name=name, password="secret")


@pytest.mark.parametrize("name", ["-rf", "LAB\\jane.doe", "jane doe"])
def test_a_name_that_cannot_be_served_is_told_so_and_not_called_wrong(name: str) -> None:
    with pytest.raises(UnservedNameError) as caught:
        read(name)

    sentence = caught.value.jupyterhub_message
    assert f"This portal cannot serve names like '{name.lower()}', since it " in sentence


def test_a_long_name_is_shown_cut() -> None:
    with pytest.raises(UnservedNameError) as caught:
        read("x" * 3000)

    assert len(caught.value.jupyterhub_message) < 300


@pytest.mark.parametrize(
    ("name", "password"), [("", "secret"), ("ada", " "), ("ada", "x" * 2000), ("ada\n", "secret")]
)
def test_what_no_account_can_have_is_wrong(name: str, password: str) -> None:
    assert read(name, password) is None
