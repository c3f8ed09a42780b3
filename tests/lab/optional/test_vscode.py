"""VS Code in a session, with the real code-server in a browser: used, unused, and by others."""

import json
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect  # noqa: E402

from deploy.environments.builder.code_server import NAME, program  # noqa: E402
from deploy.environments.builder.plan import Plan  # noqa: E402
from deploy.environments.builder.process import clean_environment  # noqa: E402
from tests.lab.optional.conftest import BUILD_TIMEOUT_S, FOLDER  # noqa: E402
from tests.support.chromium import logged_in_page  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.notebook_server import NotebookServer, descendants  # noqa: E402
from tests.support.tensorboard_contract import listening_inodes, sockets_of  # noqa: E402

TIMEOUT_MS = 120_000
USER, ANOTHER_USER = 12345, 65534
WALLTIME_S = 1790
IDLE_AFTER_S = 20.0
# VS Code calls a window active for a minute after it was used.
UNUSED_TIMEOUT_S = 300
# An extension of a user's, which says whom it may call.
ASKS = {
    "publisher": "tests",
    "name": "asks",
    "main": """
        const vscode = require("vscode");
        const of = name => vscode.workspace.getConfiguration().get(name);
        exports.activate = () => require("fs").writeFileSync(
            process.env.HOME + "/answers.json", JSON.stringify([
                vscode.env.isTelemetryEnabled, of("telemetry.telemetryLevel"),
                of("workbench.enableExperiments"),
                of("extensions.autoCheckUpdates"), of("extensions.autoUpdate"),
            ]));
    """,
}
# Stands for the Python extension: its name, its setting, and which of its values it looks at.
PYTHON = {
    "publisher": "ms-python",
    "name": "python",
    "contributes": {
        "configuration": {
            "properties": {
                "python.defaultInterpreterPath": {
                    "type": "string",
                    "default": "python",
                    "scope": "machine-overridable",
                }
            }
        }
    },
    "main": """
        const vscode = require("vscode");
        const say = () => require("fs").writeFileSync(
            process.env.HOME + "/python.json", JSON.stringify(vscode.workspace
                .getConfiguration("python").inspect("defaultInterpreterPath").globalValue ?? null));
        exports.activate = () => { say(); vscode.workspace.onDidChangeConfiguration(say); };
    """,
}
# Of a colleague, opened but not run. Each way in which it could act is noted by its name.
ACT = "top.acted = (top.acted ?? '') + ' {}'"
TABLE = """<table>
  <tr><th>loss</th></tr>

  <tr><td>0.125</td></tr>
</table>"""
# The session's, the hub's, and pages that would ask them.
PLACES = ("/user/ada/api/contents", "/user/ada/api/terminals", "/hub/api/user", "/user/ada/lab")
MANIFEST = """<PackageManifest Version="2.0.0"
    xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011"><Metadata>
    <Identity Language="en-US" Id="{name}" Version="1.0.0" Publisher="{publisher}"/></Metadata>
    <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
    <Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json"/>
    </Assets></PackageManifest>"""
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become two other users")


@pytest.fixture(scope="session")
def code_server() -> Path:
    """The program, in a folder that users can read."""
    plan = Plan(prefix=FOLDER / NAME, log_dir=FOLDER / "log", datasets_dir=FOLDER / "datasets")
    folders = ("--prefix", plan.prefix, "--logs", plan.log_dir, "--datasets", plan.datasets_dir)
    done = subprocess.run(
        [plan.recipes_dir / "build", *folders, NAME],
        env=clean_environment(),
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0
    return program(plan)


@pytest.fixture(scope="module")
def server(code_server: Path, tensorboard_python: Path) -> Iterator[NotebookServer]:
    """A session of an ordinary user with one GPU and half an hour left, stopped when idle."""
    settings = {
        "meter": {"interval_s": 1.0},
        "idle": {"after_minutes": IDLE_AFTER_S / 60, "warning_minutes": 60, "cpu_percent": 50},
        "clock": {"warnings_minutes": [30, 5]},
        "vscode": {"enabled": True, "program": str(code_server)},
    }
    environ = {
        "JUPYTER_NO_CONFIG": "1",
        "PORTAL_WALLTIME_S": str(WALLTIME_S),
        "CUDA_VISIBLE_DEVICES": "2",
        "PORTAL_SETTINGS": json.dumps(settings),
    }
    with tempfile.TemporaryDirectory(prefix="dsp-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        user_id = USER if os.getuid() == 0 else None
        server = NotebookServer(folder, tensorboard_python, environ=environ, user_id=user_id)
        for path in (folder, server.root, server.tmp_dir):
            path.chmod(0o755)
        yield server
        server.stop()


@pytest.fixture(scope="module")
def page(server: NotebookServer) -> Iterator[Page]:
    """VS Code's window, in which the folder of the home is trusted once it has a terminal."""
    with logged_in_page(server, TIMEOUT_MS) as page:
        page.goto(address(server))
        yield page


def address(server: NotebookServer) -> str:
    (tool,) = server.http.get(f"{server.host}/user/ada/portal/api/tools", timeout=10).json()
    assert tool["title"] == "VS Code"
    return f"{server.host}{tool['url']}"


def idle_of(server: NotebookServer) -> dict[str, Any]:
    url = f"{server.host}/user/ada/portal/api/session"
    return dict(server.http.get(url, timeout=10).json()["idle"])


def run_in_terminal(page: Page, command: str) -> None:
    page.locator(".terminal-wrapper.active").click()
    page.keyboard.type(f"{command}\n")


def write_vsix(path: Path, extension: dict[str, Any]) -> None:
    """Write the file of an extension that starts with every window."""
    described = {
        "version": "1.0.0",
        "engines": {"vscode": "^1.89.0"},
        "extensionKind": ["workspace"],
        "activationEvents": ["onStartupFinished"],
        **extension,
        "main": "main.js",
    }
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("extension/package.json", json.dumps(described))
        file.writestr("extension/main.js", extension["main"])
        file.writestr("extension.vsixmanifest", MANIFEST.format_map(extension))
    path.chmod(0o644)


def test_the_time_left_is_told_and_the_warning_is_shown(page: Page) -> None:
    expect(page.locator(".statusbar")).to_contain_text(" min left", timeout=TIMEOUT_MS)

    toast = page.locator(".notifications-toasts")
    expect(toast).to_contain_text("This session ends in", timeout=TIMEOUT_MS)
    expect(toast.get_by_role("button", name="Open the session")).to_be_visible()


def test_the_session_is_opened_at_the_portals_address(page: Page, server: NotebookServer) -> None:
    with page.context.expect_page() as opened:
        page.locator(".statusbar").get_by_text(" min left").click()

    assert opened.value.url.startswith(f"{server.host}/user/ada/")
    opened.value.close()


def test_a_terminal_has_the_gpus_of_the_session_and_no_token(
    page: Page, server: NotebookServer
) -> None:
    page.keyboard.press("Control+Backquote")
    page.get_by_role("button", name="Trust Folder").click()
    expect(page.locator(".terminal-wrapper.active")).to_be_visible()

    run_in_terminal(page, "echo gpu $CUDA_VISIBLE_DEVICES, token $JUPYTERHUB_API_TOKEN. > said")

    said = server.root / "said"
    eventually(lambda: said.exists() and said.read_text() == "gpu 2, token .\n", timeout_s=60)


def test_an_extension_from_a_file_learns_that_it_may_call_nobody(
    page: Page, server: NotebookServer
) -> None:
    write_vsix(server.root / "asks.vsix", ASKS)

    run_in_terminal(page, "code-server --install-extension asks.vsix")

    answers = server.root / "answers.json"
    wanted = [False, "off", False, False, "off"]
    eventually(lambda: json.loads(answers.read_text()) == wanted, timeout_s=60)


def test_the_python_extension_starts_the_sessions_python_until_its_user_chooses_another(
    page: Page, server: NotebookServer
) -> None:
    write_vsix(server.root / "python.vsix", PYTHON)

    run_in_terminal(page, "code-server --install-extension python.vsix")

    said = server.root / "python.json"
    eventually(lambda: json.loads(said.read_text()) == "${env:PORTAL_PYTHON}", timeout_s=60)
    machine = server.root / ".local/share/code-server/Machine/settings.json"
    machine.write_text('{"python.defaultInterpreterPath": "/mine/python"}')
    eventually(lambda: json.loads(said.read_text()) == "/mine/python", timeout_s=60)
    page.reload()
    said.unlink()
    eventually(lambda: json.loads(said.read_text()) == "/mine/python", timeout_s=120)
    expect(page.locator(".statusbar")).to_contain_text(" min left", timeout=TIMEOUT_MS)
    assert json.loads(said.read_text()) == "/mine/python"


def test_a_file_is_edited_and_saved(page: Page, server: NotebookServer) -> None:
    file = server.root / "train.py"
    run_in_terminal(page, "touch train.py; code-server train.py")
    expect(page.get_by_role("tab", name="train.py")).to_be_visible()
    page.locator(".editor-instance .view-lines").click()

    page.keyboard.type("epochs = 3")
    page.keyboard.press("Control+S")

    eventually(lambda: file.read_text().strip() == "epochs = 3", timeout_s=60)


def in_html(way: str) -> str:
    act = ACT.format(way)
    return f'<p>of {way}</p><script>{act}</script><img src="x" onerror="{act}">'


def colleagues_notebook() -> dict[str, Any]:
    """Return a notebook with a script wherever it is shown as more than text."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{ACT.format("svg")}"><text/></svg>'
    shown = {
        "text/html": f"{TABLE}{in_html('html')}",
        "image/svg+xml": svg,
        "application/javascript": ACT.format("javascript"),
        "text/markdown": f"*markdown*\n\n{in_html('markdown')}",
        "text/latex": in_html("latex"),
        "text/plain": in_html("plain"),
    }
    outputs: list[dict[str, Any]] = [
        {"output_type": "display_data", "metadata": {}, "data": {mime: text}}
        for mime, text in shown.items()
    ]
    outputs += [
        {"output_type": "stream", "name": name, "text": in_html(name)}
        for name in ("stdout", "stderr")
    ]
    # Marked up, as the Jupyter extension does it.
    lines = [f"\x1b[31mError\x1b[0m <a href='x'>{in_html('traceback')}</a>"]
    error = {"output_type": "error", "ename": "Error", "evalue": in_html("error")}
    outputs.append({**error, "traceback": lines})
    last = {"text/html": in_html("last")}
    outputs.append({"output_type": "display_data", "metadata": {}, "data": last})
    code = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": 1, "source": "1"}
    text = {"cell_type": "markdown", "id": "b", "metadata": {}, "source": in_html("markdown cell")}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"language_info": {"name": "python"}},
        "cells": [text, {**code, "outputs": outputs}],
    }


def test_a_colleagues_notebook_is_shown_in_a_trusted_folder_and_runs_nothing(
    page: Page, server: NotebookServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    foreign = server.root.parent / "isilon"
    foreign.mkdir()
    (foreign / "results.ipynb").write_text(json.dumps(colleagues_notebook()))
    (server.root / "isilon").symlink_to(foreign)

    run_in_terminal(page, "code-server isilon/results.ipynb")

    cells = page.frame_locator("iframe.webview.ready").frame_locator("#active-frame")
    expect(cells.get_by_text("of markdown cell")).to_be_visible(timeout=TIMEOUT_MS)
    expect(cells.get_by_role("cell", name="0.125")).to_be_visible()
    expect(cells.get_by_text("of last")).to_be_attached()
    assert page.evaluate("window.acted ?? ''") == ""
    run_in_terminal(page, "rm isilon")


def test_a_script_in_its_window_asks_nothing_of_session_and_hub(
    page: Page, server: NotebookServer
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for place in PLACES:
        assert page.evaluate("fetch('.').then(answer => answer.ok)"), "VS Code itself"
        refused = f"fetch({place!r}).then(() => 'asked', () => 'refused')"
        assert page.evaluate(refused) == "refused"
        page.evaluate(
            """place => {
                navigator.sendBeacon(place, '');
                new WebSocket(new URL(place, location).href.replace('http', 'ws'))
                for (const [tag, name] of [['iframe', 'src'], ['object', 'data']]) {
                    const frame = document.createElement(tag);
                    document.body.append(Object.assign(frame, {[name]: place}));
                }
                const form = Object.assign(document.createElement('form'), {
                    action: place, method: 'post', target: 'elsewhere'});
                document.body.append(form);
                form.submit();
            }""",
            place,
        )
    page.evaluate("fetch('.')")

    assert [url for url in asked if url.removeprefix(server.host) in PLACES] == []


def test_it_has_no_hold_on_the_window_that_opened_it(page: Page, server: NotebookServer) -> None:
    session = page.context.new_page()
    session.goto(f"{server.host}/user/ada/portal/jobs")

    with session.expect_popup() as opened:
        session.evaluate("address => void window.open(address)", address(server))

    expect(opened.value.locator(".monaco-workbench")).to_be_visible(timeout=TIMEOUT_MS)
    assert opened.value.evaluate("window.opener") is None
    for window in (opened.value, session):
        window.close()


def test_none_of_its_extensions_misses_a_module(page: Page, server: NotebookServer) -> None:
    logs = (server.root / ".local/share/code-server/logs").glob("*/exthost*/remoteexthost.log")
    text = "".join(log.read_text() for log in logs)

    assert "ExtensionService#_doActivateExtension vscode.git" in text
    assert "Cannot find module" not in text
    assert "Cannot find package" not in text


def test_it_leads_to_no_port_of_the_node(page: Page, server: NotebookServer) -> None:
    for path in ("proxy/22/", "absproxy/22/"):
        answer = server.http.get(f"{address(server)}{path}", timeout=30)
        assert answer.status_code in {403, 404}, path

    pids = descendants(server.process.pid)
    assert sockets_of(pids) & listening_inodes() == set()


def test_a_stranger_is_sent_to_the_login(page: Page, server: NotebookServer) -> None:
    argv = ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}"]
    done = subprocess.run([*argv, address(server)], capture_output=True, text=True, check=False)

    assert done.stdout == "302"


@needs_root
def test_another_user_of_the_node_reaches_no_socket(page: Page, server: NotebookServer) -> None:
    lines = Path("/proc/net/unix").read_text().splitlines()[1:]
    own = sockets_of([server.process.pid, *descendants(server.process.pid)])
    fields = [line.split() for line in lines]
    paths = {words[7] for words in fields if len(words) > 7 and words[6] in own}
    files = [path for path in paths if path.startswith("/")]
    assert any("vscode-ipc" in path for path in files), "the terminals' own"

    for path in files:
        argv = ["curl", "--silent", "--max-time", "5", "--unix-socket", path, "http://x/"]
        stranger = subprocess.run(argv, user=ANOTHER_USER, extra_groups=[], capture_output=True)
        assert (stranger.returncode, stranger.stdout) == (7, b""), f"curl connected to {path}"


def test_an_open_window_keeps_the_session_only_while_somebody_uses_it(
    page: Page, server: NotebookServer
) -> None:
    eventually(lambda: idle_of(server)["state"] == "warned", timeout_s=UNUSED_TIMEOUT_S)
    toast = page.locator(".notifications-toasts")
    expect(toast).to_contain_text("Nothing happens in this session", timeout=TIMEOUT_MS)

    page.keyboard.press("ArrowUp")

    eventually(lambda: idle_of(server)["state"] == "used", timeout_s=60)
