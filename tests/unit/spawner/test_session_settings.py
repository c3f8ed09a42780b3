"""What the hub tells a session is read as it was written, by other releases too."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from spawner.errors import SettingsError
from spawner.session_settings import VARIABLE, SessionSettings, Tool, read_settings

ALL = SessionSettings(
    site_name="GPU Cluster",
    extensions_on=("portal.server",),
    extensions_off=("nbdime",),
    port_min=30000,
    port_max=30009,
    any_port=True,
    log_mib=20,
    cores_per_gpu=8,
    memory_mib_per_gpu=49152,
    warnings_s=(1800, 300),
    meter_interval_s=0.5,
    idle_after_s=600.0,
    idle_warning_s=60.0,
    idle_gpu_percent=5.0,
    idle_cpu_percent=2.5,
    tensorboard_python="/opt/tensorboard/bin/python",
    tensorboard_limit=8,
    tensorboard_idle_s=3600.0,
    ssh_limit=3,
    ssh_forwards_ports=True,
    runs_most_mib=51200,
    runs_newest_kept=20,
    is_shareable=True,
    saves_output=True,
    resumable_uploads=True,
    archives=True,
    forbids_downloads=True,
    forbids_terminals=True,
    previews=True,
    environments_file="/etc/environments.toml",
    image_binds=("/srv/isilon",),
    site_templates=("/srv/ours", "https://example.com/a.git"),
    mlflow_python="/opt/mlflow/bin/python",
    xprof_python="/opt/xprof/bin/python",
    mlflow_limit=2,
    mlflow_idle_s=60.0,
    s3_endpoint="https://s3.example.org",
    s3_region="eu-west-1",
    s3_buckets=("images",),
    s3_ca_bundle="/etc/ssl/own.pem",
    git=True,
    course_hosts=("git.example.org",),
    vscode_program="/opt/code-server/bin/code-server",
    vscode_gallery="https://open-vsx.org",
    tools=(Tool(name="netron", title="Netron", command=("/opt/netron", "{unix_socket}")),),
)


def test_a_session_reads_what_the_hub_wrote() -> None:
    neutral = asdict(SessionSettings())

    assert read_settings({VARIABLE: ALL.to_json()}) == ALL
    # Nothing in this test is left at what is off.
    assert [name for name, value in asdict(ALL).items() if value == neutral[name]] == []


@pytest.mark.parametrize("environ", [{}, {VARIABLE: ""}, {VARIABLE: "{}"}])
def test_what_an_older_hub_does_not_say_is_off(environ: dict[str, str]) -> None:
    settings = read_settings(environ)

    assert settings == SessionSettings()
    assert (settings.idle_after_s, settings.meter_interval_s, settings.log_mib) == (0, 0, 0)
    assert (settings.port_min, settings.port_max) == (1024, 65535)


def test_what_a_newer_hub_says_besides_is_ignored() -> None:
    tool = {"name": "a", "title": "", "command": ["/a"], "icon": "a.svg"}
    text = json.dumps({"log_mib": 5, "colour": "blue", "tools": [tool]})

    settings = read_settings({VARIABLE: text})

    assert (settings.log_mib, settings.tools[0].command) == (5, ("/a",))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "Expecting"),
        ("[]", "no object"),
        ('{"log_mib": "20"}', "'log_mib' is '20'"),
        ('{"log_mib": true}', "'log_mib' is True"),
        ('{"any_port": 1}', "'any_port' is 1"),
        ('{"warnings_s": 300}', "'warnings_s' is 300"),
        ('{"warnings_s": [300, "x"]}', "'warnings_s' is 'x'"),
        ('{"idle_after_s": null}', "'idle_after_s' is None"),
        ('{"tools": [{"name": "a"}]}', "lacks a key"),
    ],
)
def test_a_value_of_another_kind_is_refused_and_named(text: str, fault: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        read_settings({VARIABLE: text})

    assert VARIABLE in str(refusal.value)
    assert fault in str(refusal.value)
    assert "start the session again" in str(refusal.value)
