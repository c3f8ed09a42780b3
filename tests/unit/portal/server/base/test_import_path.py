"""What of PYTHONPATH the kernels get."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.server.base import import_path
from portal.server.base.import_path import drop_relative_paths, guard_ports, offer_library


@pytest.mark.parametrize(
    ("given", "kept"),
    [(":/a", "/a"), ("/a::/b:", "/a:/b"), (".:/a", "/a"), ("/a:lib", "/a"), ("/a", "/a"), ("", "")],
)
def test_a_part_that_means_the_notebooks_folder_is_dropped(given: str, kept: str) -> None:
    environ = {"PYTHONPATH": given}

    drop_relative_paths(environ)

    assert environ == {"PYTHONPATH": kept}


def test_without_the_variable_nothing_is_set() -> None:
    environ: dict[str, str] = {}

    drop_relative_paths(environ)

    assert environ == {}


@pytest.mark.parametrize(("given", "expected"), [(None, "{}"), ("", "{}"), ("/a:/b", "/a:/b:{}")])
def test_dsportal_comes_behind_what_the_user_has_on_the_path(
    given: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_path, "_SOURCE", tmp_path / "missing")
    library = tmp_path / "library"
    library.mkdir()
    environ = {} if given is None else {"PYTHONPATH": given}

    offer_library(environ, tmp_path)

    assert environ == {"PYTHONPATH": expected.format(library), "PORTAL_LIBRARY": str(library)}


def test_an_installation_without_the_folder_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_path, "_SOURCE", tmp_path / "missing")
    environ: dict[str, str] = {}

    offer_library(environ, tmp_path)

    assert environ == {}


@pytest.mark.parametrize("given", ["/a", "", None])
def test_what_guards_ports_is_in_front_of_all_else(given: str | None) -> None:
    environ = {"PORTAL_LIBRARY": "/library"}
    if given is not None:
        environ["PYTHONPATH"] = given

    guard_ports(environ)

    first = "/library/dsportal/start/first"
    assert environ["PYTHONPATH"] == (f"{first}:{given}" if given else first)


def test_an_installation_without_the_folder_guards_ports_too() -> None:
    environ: dict[str, str] = {}

    guard_ports(environ)

    assert [path.name for path in Path(environ["PYTHONPATH"]).glob("*.py")] == ["sitecustomize.py"]
