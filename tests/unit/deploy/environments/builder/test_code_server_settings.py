"""The settings of VS Code that decide whom it calls, in a stand-in for its server."""

import json
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder.code_server_settings import set_defaults

OPTIONS = "let re={remoteAuthority:m,enabledExtensionProposedApi:this.args,productConfiguration:F};"


@pytest.fixture
def vscode(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/server-main.js").write_text(OPTIONS)
    (tmp_path / "product.json").write_text('{"enableTelemetry": true, "version": "1.139.1"}')
    return tmp_path


def test_no_telemetry_is_sent_whatever_a_user_sets(vscode: Path) -> None:
    set_defaults(vscode)

    product = json.loads((vscode / "product.json").read_text())
    assert product == {"enableTelemetry": False, "version": "1.139.1"}


def test_a_window_gets_the_defaults_beside_its_other_options(vscode: Path) -> None:
    set_defaults(vscode)

    server = (vscode / "out/server-main.js").read_text()
    before, _, after = server.partition("configurationDefaults:")
    defaults, _, rest = after.partition("},")
    assert f"{before}{rest}" == OPTIONS
    assert json.loads(f"{defaults}}}")["extensions.autoUpdate"] == "off"


@pytest.mark.parametrize("text", ["let re={};", OPTIONS + OPTIONS])
def test_a_release_that_gives_options_in_another_way_is_refused(vscode: Path, text: str) -> None:
    (vscode / "out/server-main.js").write_text(text)

    with pytest.raises(DeployError, match="cannot be put in front of it"):
        set_defaults(vscode)
