"""What is wrong with a login by OAuth, asked of a provider of our own."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Finding, Grade
from portal.site.checks.login_service import SECRET, check_login_service, read_secret_names
from tests.hub.private_openid import Provider, running_provider
from tests.support.portal_toml import MINIMAL

PUBLIC_URL = "https://www.example.com"
CALLBACK = f"{PUBLIC_URL}/jupyter/hub/oauth_callback"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture
def asked(
    load: Callable[[str], Settings], provider: Provider
) -> Callable[..., Callable[..., object]]:
    """Return a function that checks a site with the provider, and changed options."""

    async def check(
        secret_names: frozenset[str] | None = frozenset({SECRET}), **changed: str
    ) -> dict[Grade, str]:
        settings = load(MINIMAL)
        hub = replace(settings.hub, public_url=PUBLIC_URL, base_url="/jupyter/")
        options = {
            "oauth_callback_url": CALLBACK,
            "authorize_url": f"{provider.url}/authorize",
            "token_url": f"{provider.url}/token",
            "userdata_url": f"{provider.url}/userinfo",
        } | changed
        login = replace(settings.login, authenticator="generic-oauth", options=options)
        found = await check_login_service(replace(settings, hub=hub, login=login), secret_names)
        return {grade: _sentences(found, grade) for grade in Grade}

    return check


def _sentences(found: list[Finding], grade: Grade) -> str:
    return "\n".join(f"{one.sentence} {one.cure}" for one in found if one.grade is grade)


async def test_a_service_that_answers_and_knows_the_hub_is_all_right(asked) -> None:
    found = await asked()

    assert [line.split()[0] for line in found[Grade.OK].splitlines()] == [
        "authorize_url",
        "token_url",
        "userdata_url",
    ]
    assert not found[Grade.PROBLEM] + found[Grade.WARNING] + found[Grade.SKIPPED]


@pytest.mark.parametrize(
    ("option", "value", "grade", "said"),
    [
        ("oauth_callback_url", "https://other/hub/oauth_callback", Grade.PROBLEM, CALLBACK),
        ("oauth_callback_url", f"{PUBLIC_URL}/hub/oauth_callback", Grade.PROBLEM, CALLBACK),
        ("token_url", "{url}/tokens", Grade.PROBLEM, "/tokens answers 404"),
        ("userdata_url", "{url}/me", Grade.PROBLEM, "/me answers 404"),
        ("userdata_url", "http://127.0.0.1:1/me", Grade.PROBLEM, "does not answer"),
        ("userdata_url", "", Grade.PROBLEM, "userdata_url is not set."),
        # Browsers ask it, perhaps by another way.
        ("authorize_url", "http://127.0.0.1:1/", Grade.WARNING, "does not answer"),
    ],
)
async def test_a_wrong_address_is_named(
    asked, provider: Provider, option: str, value: str, grade: Grade, said: str
) -> None:
    found = await asked(**{option: value.format(url=provider.url)})

    assert said in found[grade]
    assert option in found[grade]


@pytest.mark.parametrize(
    ("text", "is_known"),
    [(f"{SECRET}=x\n", True), (f"{SECRET}=\n", False), (f'{SECRET}=""\n', False), ("A=b", False)],
)
async def test_a_secret_that_the_hub_lacks_is_missed(
    asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, is_known: bool
) -> None:
    monkeypatch.delitem(os.environ, SECRET, raising=False)
    path = tmp_path / "secrets.env"
    path.write_text(text)

    found = await asked(read_secret_names(path))

    assert (SECRET in found[Grade.PROBLEM]) is not is_known


async def test_a_secret_that_cannot_be_read_is_not_missed(asked, tmp_path: Path) -> None:
    path = tmp_path / "secrets.env"
    path.mkdir()

    found = await asked(read_secret_names(path))

    assert not found[Grade.PROBLEM]
    assert "Run this as root" in found[Grade.SKIPPED]
