"""What VS Code lets a notebook run, in a stand-in for its scripts."""

from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder.code_server_outputs import distrust_outputs

CONTEXT = "x={workspace:{get isTrusted(){return a}},settings:{}};"
RENDERER = (
    'switch(r.mime){case"text/html":case"image/svg+xml":{if(!i.workspace.isTrusted)return;'
    'await Ut(r,o,a,n);break}case"application/javascript":{if(!i.workspace.isTrusted)return;'
    'wt(r,o,a,s);break}case"image/gif":case"image/png":{vt(r,o)}break}'
)


@pytest.fixture
def vscode(tmp_path: Path) -> Path:
    for name, text in (("context", CONTEXT), ("renderer", RENDERER)):
        path = path_of(tmp_path, name)
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path


def path_of(vscode: Path, name: str) -> Path:
    if name == "context":
        return vscode / "out/vs/code/browser/workbench/workbench.js"
    return vscode / "extensions/notebook-renderers/renderer-out/index.js"


def test_no_renderer_is_told_that_a_notebook_is_trusted(vscode: Path) -> None:
    distrust_outputs(vscode)

    text = path_of(vscode, "context").read_text()
    assert text == "x={workspace:{isTrusted:!1},settings:{}};"


def test_html_is_sanitized_and_an_svg_is_an_image(vscode: Path) -> None:
    distrust_outputs(vscode)

    text = path_of(vscode, "renderer").read_text()
    html, _, rest = text.partition("break}")
    assert "innerHTML" not in html
    assert "Ut(" not in text
    assert 'i.getRenderer("vscode.markdown-it-renderer")).renderOutputItem({id:r.id' in html
    assert rest.startswith('case"application/javascript":{if(!i.workspace.isTrusted)return;')
    assert 'case"image/svg+xml":case"image/gif":case"image/png":{vt(r,o)}' in rest


@pytest.mark.parametrize("name", ["context", "renderer"])
@pytest.mark.parametrize("n_times", [0, 2])
def test_a_release_that_shows_notebooks_in_another_way_is_refused(
    vscode: Path, name: str, n_times: int
) -> None:
    path = path_of(vscode, name)
    path.write_text(path.read_text() * n_times)

    with pytest.raises(DeployError, match=f"decides {n_times} times, not once"):
        distrust_outputs(vscode)
