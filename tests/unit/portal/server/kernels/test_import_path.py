"""What of PYTHONPATH the kernels get."""

from __future__ import annotations

import pytest

from portal.server.kernels.import_path import drop_relative_paths


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
