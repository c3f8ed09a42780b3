"""How VS Code is started in a session."""

import json
import os
import sys
from pathlib import Path

import pytest

from portal.server.web_tools.tool import WebTool
from portal.server.web_tools.vscode import vscode_tool
from portal.settings.session_tables import SessionTables
from tests.support.told import tables

VSCODE = {"enabled": True, "program": "/bin/sh", "gallery": "https://open-vsx.org/"}
SETTINGS = tables(vscode=VSCODE)
PREFIX = "/user/ada/port/0123/"


def tool_of(settings: SessionTables, private_dir: Path) -> WebTool:
    tool = vscode_tool(settings, private_dir, "/home/ada", PREFIX)
    assert tool is not None
    return tool


@pytest.mark.parametrize("change", [{"enabled": False}, {"program": "/opt/absent/code-server"}])
def test_a_site_or_a_node_without_it_does_not_offer_it(
    change: dict[str, object], tmp_path: Path
) -> None:
    settings = tables(vscode=VSCODE | change)

    assert vscode_tool(settings, tmp_path, "/home/ada", PREFIX) is None


def test_a_node_without_room_for_sockets_does_not_offer_it() -> None:
    assert vscode_tool(SETTINGS, Path(os.devnull), "/home/ada", PREFIX) is None


def test_it_listens_on_a_socket_and_leads_to_no_port(tmp_path: Path) -> None:
    command = tool_of(SETTINGS, tmp_path).command

    assert command[:2] == ("/bin/sh", "--socket")
    assert "--disable-proxy" in command
    assert command[-1] == "/home/ada"
    config = Path(command[command.index("--config") + 1])
    assert config.read_text() == "auth: none\n"


def test_a_port_of_a_program_is_opened_through_the_portal(tmp_path: Path) -> None:
    environment = tool_of(SETTINGS, tmp_path).environment

    assert environment["PORTAL_PYTHON"] == sys.executable
    assert environment["VSCODE_PROXY_URI"] == "/user/ada/port/0123/{{port}}/"


def test_a_site_names_its_gallery_or_has_none(tmp_path: Path) -> None:
    environment = tool_of(SETTINGS, tmp_path).environment
    gallery = json.loads(environment["EXTENSIONS_GALLERY"])
    assert gallery["serviceUrl"] == "https://open-vsx.org/vscode/gallery"

    assert tool_of(SETTINGS, tmp_path).asks == (PREFIX, "https://open-vsx.org/")
    without = tool_of(tables(vscode=VSCODE | {"gallery": ""}), tmp_path)
    assert without.asks == (PREFIX,)
    none = without.environment

    assert none["EXTENSIONS_GALLERY"] == "{}"


def test_variables_survive_the_templates_of_jupyter_server_proxy(tmp_path: Path) -> None:
    tool = tool_of(SETTINGS, tmp_path)

    for name, template in tool.variables().items():
        assert template.format() == tool.environment[name]


def test_sockets_are_private_unless_their_address_would_be_too_long(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20)
    folder.mkdir()

    assert "XDG_RUNTIME_DIR" not in tool_of(SETTINGS, folder).environment


def test_it_finds_the_shipped_kernels_first_and_then_those_of_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_PATH", "/of/the/site")
    folders = (Path("/private/without-packages/kernels"), Path("/private/environments/kernels"))

    tool = vscode_tool(SETTINGS, tmp_path, "/home/ada", PREFIX, kernels=folders)

    assert tool is not None
    assert tool.environment["JUPYTER_PATH"].split(":") == [
        "/of/the/site",
        f"{sys.prefix}/share/jupyter",
        "/private/without-packages",
        "/private/environments",
    ]


@pytest.mark.parametrize("forbids", [True, False])
def test_a_site_without_downloads_has_none_here(tmp_path: Path, forbids: bool) -> None:
    tool = tool_of(tables(vscode=VSCODE, files={"downloads": not forbids}), tmp_path)

    assert ("--disable-file-downloads" in tool.command) is forbids
