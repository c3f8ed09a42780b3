"""VS Code's settings that decide whom it calls: an extension may not give them defaults.

Users can change them, all but what telemetry is sent: none.

Source:
    VS Code 1.139, `DefaultConfigurationsExtensionPoint`, which takes no setting of the scope
    "application"; `IWorkbenchConstructionOptions.configurationDefaults`; `supportsTelemetry`, which
    also tells extensions that they may send nothing.
"""

import json
from pathlib import Path

from deploy.common.errors import DeployError

DEFAULTS = {
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": "off",
    "telemetry.telemetryLevel": "off",
    "workbench.enableExperiments": False,
}
# What the server gives a window begins elsewhere; this is the only mention of one of its options.
_OPTION = "enabledExtensionProposedApi:"


def set_defaults(vscode: Path) -> None:
    """Give every window the defaults, and switch telemetry off.

    Args:
        vscode: The folder of VS Code's server, with `product.json` and `out`.
    """
    product = vscode / "product.json"
    described = json.loads(product.read_text(encoding="utf-8"))
    product.write_text(json.dumps({**described, "enableTelemetry": False}, indent=2) + "\n")

    server = vscode / "out/server-main.js"
    text = server.read_text(encoding="utf-8")
    if text.count(_OPTION) != 1:
        raise DeployError(
            f"{server} mentions {_OPTION} {text.count(_OPTION)} times, not once, so settings that "
            "keep VS Code from calling others cannot be put in front of it.",
            "Keep the release of code-server whose lock was there before.",
        )
    defaults = f"configurationDefaults:{json.dumps(DEFAULTS)},"
    server.write_text(text.replace(_OPTION, defaults + _OPTION), encoding="utf-8")
