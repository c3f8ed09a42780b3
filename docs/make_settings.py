"""Write the pages of settings in docs/reference from what `dsportal config reference` prints.

Run it from the root of the repository after a change of a setting:

    python docs/make_settings.py
"""

import re
import sys
from pathlib import Path

DOCS_DIR = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS_DIR.parent), str(DOCS_DIR.parent / "portal/dsportal")]

from portal.hub.settings.reference import reference_markdown  # noqa: E402

# Title, text and sections of each page.
_PAGES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "settings": (
        "Settings of hub and login",
        """\
These pages have every table and key of `portal.toml`, as `dsportal config reference` prints them.
`docs/make_settings.py` makes them. Do not edit them by hand.

* This page: the hub, the login, its traffic, messages, the assistant
* [Settings of the form and of starts](settings-starts.md): what users may ask for, and limits
* [Settings of a session](settings-sessions.md): JupyterLab, storage, tools
""",
        ("[site]", "[hub]", "[hubs]", "[login]", "[traffic]", "[mail]", "[chat]", "[assistant]"),
    ),
    "settings-starts": (
        "Settings of the form and of starts",
        "[Settings of hub and login](settings.md) explains these pages.\n",
        (
            "[resources]",
            "[choices]",
            "[partitions.NAME]",
            "[groups.NAME]",
            "[users.NAME]",
            "[forecast]",
            "[preflight]",
            "[slurm]",
            "[clusters.NAME]",
            "[extension]",
            "SlurmGPUSpawner",
        ),
    ),
    "settings-sessions": (
        "Settings of a session",
        "[Settings of hub and login](settings.md) explains these pages.\n",
        (
            "[clock]",
            "[idle]",
            "[meter]",
            "[notebooks]",
            "[kernel_jobs]",
            "[files]",
            "[terminals]",
            "[storage]",
            "[storage.NAME]",
            "[s3]",
            "[environments]",
            "[sharing]",
            "[git]",
            "[tensorboard]",
            "[mlflow]",
            "[vscode]",
            "[ssh]",
            "[tools.NAME]",
        ),
    ),
}


def render_settings() -> dict[str, str]:
    """Return the Markdown text of each page, by its name.

    Raises:
        KeyError: If a table belongs to no page, or to two.
    """
    printed = re.split(r"^## (.*)\n", reference_markdown(), flags=re.MULTILINE)[1:]
    sections = {
        title: f"## {title}\n{text.rstrip()}\n"
        for title, text in zip(printed[::2], printed[1::2], strict=True)
    }
    pages = {
        name: "\n".join([f"# {title}\n", text, *(sections.pop(each) for each in listed)])
        for name, (title, text, listed) in _PAGES.items()
    }
    if sections:
        raise KeyError(f"on no page: {', '.join(sections)}")
    return pages


if __name__ == "__main__":
    for name, text in render_settings().items():
        (DOCS_DIR / f"reference/{name}.md").write_text(text, encoding="utf-8")
