"""Another authenticator by one setting: what is passed through and what is refused."""

from collections.abc import Callable

import pytest
from oauthenticator.generic import GenericOAuthenticator
from traitlets.config import Config

from portal.hub.apply import apply_settings
from portal.hub.config_check import site_problems
from portal.hub.settings.loader import Settings
from spawner.errors import SettingsError

Load = Callable[[str], Settings]

MINIMAL = """
[hub]
address = "10.77.0.1"
admin_users = ["grace"]
[partitions.jupyter]
[login]
"""


def apply(settings: Settings) -> Config:
    config = Config()
    apply_settings(config, settings)
    return config


def test_options_reach_the_authenticator_that_is_named(load: Load) -> None:
    config = apply(
        load(
            MINIMAL
            + """
            authenticator = "generic-oauth"
            allowed_groups = ["students"]
            [login.options]
            token_url = "https://id.example.com/token"
            scope = ["openid"]
            """
        )
    )

    authenticator = config.JupyterHub.authenticator_class(config=config)
    assert isinstance(authenticator, GenericOAuthenticator)
    assert authenticator.token_url == "https://id.example.com/token"
    assert authenticator.scope == ["openid"]
    assert authenticator.full_admin_users == set()
    assert authenticator.allow_all is False


@pytest.mark.parametrize("name", ["generic-oauth", "oauthenticator.generic.GenericOAuthenticator"])
async def test_members_of_a_unix_group_are_let_in(load: Load, name: str) -> None:
    config = apply(load(f'{MINIMAL}authenticator = "{name}"\nallowed_groups = ["students"]\n'))
    authenticator = config.JupyterHub.authenticator_class(config=config)

    assert await authenticator.check_allowed(
        "ada", {"name": "ada", "admin": None, "groups": ["students"]}
    )
    with pytest.raises(Exception, match="403"):
        await authenticator.check_allowed("linus", {"name": "linus", "admin": None, "groups": []})


@pytest.mark.parametrize(
    ("login", "words"),
    [
        ('authenticator = "pan"', ["'pan'", "Did you mean 'pam'?", "generic-oauth"]),
        ('authenticator = "no.such.Class"', ["'no.such.Class'", "cannot be loaded", "Install"]),
        ('authenticator = "os.path.join"', ["not an authenticator of JupyterHub"]),
        ('authenticator = "dummy"', ["any password"]),
        (
            'authenticator = "pam"\noptions = { servise = "login" }',
            ["no option 'servise'", "Did you mean 'service'?", "open_sessions"],
        ),
        ('authenticator = "pam"\noptions = { service = 1 }', ["'service'", "[login]"]),
        ('authenticator = "pam"\noptions = { allow_all = true }', ["allow_all in [login]"]),
        (
            'authenticator = "generic-oauth"\noptions = { client_secret = "x" }',
            ["OAUTH_CLIENT_SECRET", "secrets.env"],
        ),
    ],
)
def test_an_authenticator_or_option_that_there_is_not_is_refused_in_words(
    load: Load, login: str, words: list[str]
) -> None:
    settings = load(MINIMAL + login)

    with pytest.raises(SettingsError) as refused:
        apply(settings)
    for word in words:
        assert word in str(refused.value)
    assert str(refused.value) in site_problems(settings)


def test_options_of_ldap_that_have_a_key_of_their_own_are_refused(
    load: Load, minimal_toml: str
) -> None:
    login = "[login]\noptions = { tls_strategy = 'insecure' }\n"

    with pytest.raises(SettingsError, match=r"tls in \[login\]"):
        apply(load(minimal_toml.replace("[login]\n", login)))


def test_a_service_of_pam_that_is_not_there_is_named(load: Load) -> None:
    login = 'authenticator = "pam"\noptions = { service = "no-such-service" }'

    problems = site_problems(load(MINIMAL + login))

    assert any("/etc/pam.d/no-such-service does not exist" in problem for problem in problems)


def test_options_that_are_no_table_are_refused(load: Load) -> None:
    with pytest.raises(SettingsError, match="must be a table"):
        load(f'{MINIMAL}authenticator = "pam"\noptions = "service"\n')
