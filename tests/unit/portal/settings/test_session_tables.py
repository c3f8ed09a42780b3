"""What the hub tells a session is read as it was written, by other releases too."""

import json

import pytest

from portal.settings.session_tables import read_settings
from spawner.errors import SettingsError

VARIABLE = "PORTAL_SETTINGS"


@pytest.mark.parametrize("environ", [{}, {VARIABLE: ""}, {VARIABLE: "{}"}])
def test_what_an_older_hub_does_not_say_has_its_default(environ: dict[str, str]) -> None:
    settings = read_settings(environ)

    assert (settings.resources.port_min, settings.tensorboard.limit) == (30000, 8)
    assert not settings.sharing.enabled
    assert settings.tools == {}


def test_what_a_newer_hub_says_besides_is_ignored() -> None:
    tool = {"command": ["/a", "{port}"], "icon": "a.svg"}
    text = {"idle": {"after_minutes": 5, "colour": "blue"}, "moon": {}, "tools": {"a": tool}}

    settings = read_settings({VARIABLE: json.dumps(text)})

    assert (settings.idle.after_s, settings.tools["a"].command) == (300, ("/a", "{port}"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "Expecting"),
        ("[]", "no object"),
        ('{"ssh": 1}', "[ssh]"),
        ('{"ssh": {"limit": "20"}}', "'limit' in [ssh] of PORTAL_SETTINGS is '20'"),
        ('{"ssh": {"limit": true}}', "'limit' in [ssh] of PORTAL_SETTINGS is True"),
        ('{"clock": {"warnings_minutes": [30, "x"]}}', "'warnings_minutes'"),
        ('{"idle": {"after_minutes": null}}', "is None"),
        ('{"tools": {"a": {}}}', "[tools.a] of PORTAL_SETTINGS lacks the key 'command'"),
    ],
)
def test_a_value_of_another_kind_is_refused_and_named(text: str, fault: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        read_settings({VARIABLE: text})

    assert VARIABLE in str(refusal.value)
    assert fault in str(refusal.value)
    assert "start the session again" in str(refusal.value)
