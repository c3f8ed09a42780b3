"""Write docs/reference/rest.md from docs/reference/openapi.yml.

python docs/make_rest.py
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parent / "reference"
SPEC = FOLDER / "openapi.yml"
PAGE = FOLDER / "rest.md"
METHODS = ("get", "post", "put", "patch", "delete")
_HEAD = """\
# REST interfaces

{description}
[openapi.yml](openapi.yml) describes them for programs. `docs/make_rest.py` makes this page from it.
"""


def read_spec() -> dict[str, Any]:
    """Return the description of the API, as JSON values."""
    spec: dict[str, Any] = yaml.safe_load(SPEC.read_text(encoding="utf-8"))
    return spec


def operations(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield path, method and description of each operation."""
    for path, item in spec["paths"].items():
        for method in METHODS:
            if method in item:
                shared = item.get("parameters", [])
                own = item[method].get("parameters", [])
                yield path, method, {**item[method], "parameters": [*shared, *own]}


def page(spec: Mapping[str, Any]) -> str:
    """Return the page as Markdown."""
    parts = [_HEAD.format(description=spec["info"]["description"])]
    for tag in spec["tags"]:
        rows = [
            _row(path, method, operation)
            for path, method, operation in operations(spec)
            if tag["name"] in operation["tags"]
        ]
        head = ["| request | action |", "|---|---|"]
        parts.append("\n".join([f"## {tag['name']}", "", tag["description"].strip(), "", *head]))
        parts[-1] += "\n" + "\n".join(rows) + "\n"
    return "\n".join(parts)


def _row(path: str, method: str, operation: Mapping[str, Any]) -> str:
    queries = [one["name"] for one in operation["parameters"] if one["in"] == "query"]
    shown = path.replace("/user/{user}/", "")
    for one in operation["parameters"]:
        shown = shown.replace(f"{{{one['name']}}}", one["name"].upper())
    query = "?" + "&".join(f"{name}=…" for name in queries) if queries else ""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    given = f"`{json.dumps(body['example'], ensure_ascii=False)}`: " if "example" in body else ""
    return f"| `{method.upper()} {shown}{query}` | {given}{operation['summary']} |"


if __name__ == "__main__":
    PAGE.write_text(page(read_spec()), encoding="utf-8")
