"""What VS Code shows of a notebook's cells and saved outputs: nothing in them runs.

VS Code keeps such content on an origin of its own. code-server serves it from the portal's, and a
link below a trusted home leads to the files of colleagues.

Source:
    VS Code 1.139: `createRendererContext` of `webviewPreloads`, whose `isTrusted` each renderer of
    a notebook asks; notebook-renderers' `activate`; the `DOMPurify` of markdown-language-features.
"""

import re
from pathlib import Path

from deploy.common.errors import DeployError

# As in a window in restricted mode, whatever the window is.
_CONTEXT = (r"workspace:\{get isTrusted\(\)\{return \w+\}\}", "workspace:{isTrusted:!1}")
# There VS Code shows no HTML, and so no table of pandas. Markdown may hold HTML, which its renderer
# sanitizes; a blank line would end it. An image cannot run anything.
_HTML = (
    r'case"text/html":case"image/svg\+xml":\{if\(!(?P<context>\w+)\.workspace\.isTrusted\)return;'
    r"await \w+\((?P<item>\w+),(?P<element>\w+),\w+,\w+\);break\}"
    r'(?P<script>case"application/javascript":\{[^}]*\})',
    r'case"text/html":{let html="<div>"+\g<item>.text().replace(/\\n\\s*\\n/g,"\\n")+"</div>";'
    r'(await \g<context>.getRenderer("vscode.markdown-it-renderer")).renderOutputItem('
    r'{id:\g<item>.id,mime:"text/markdown",text:()=>html},\g<element>);break}\g<script>'
    r'case"image/svg+xml":',
)
_EDITS = {
    "out/vs/code/browser/workbench/workbench.js": _CONTEXT,
    "extensions/notebook-renderers/renderer-out/index.js": _HTML,
}


def distrust_outputs(vscode: Path) -> None:
    """Let no notebook run a script in the window that shows it.

    Args:
        vscode: The folder of VS Code's server, with `extensions` and `out`.
    """
    for name, (pattern, replacement) in _EDITS.items():
        file = vscode / name
        text, n_found = re.subn(pattern, replacement, file.read_text(encoding="utf-8"))
        if n_found != 1:
            raise DeployError(
                f"{file} decides {n_found} times, not once, whether a notebook is trusted, so its"
                " scripts cannot be kept from acting as the user who opens it.",
                "Keep the release of code-server whose lock was there before.",
            )
        file.write_text(text, encoding="utf-8")
