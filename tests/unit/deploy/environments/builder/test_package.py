from __future__ import annotations

from pathlib import Path

from deploy.environments.builder.package import offer_library


def test_the_folder_that_kernels_import_from_holds_one_package(tmp_path: Path) -> None:
    site_packages = tmp_path / "lib/python3.11/site-packages"
    for name in ("dsportal/__init__.py", "dsportal/__pycache__/a.pyc", "numpy/__init__.py"):
        (site_packages / name).parent.mkdir(parents=True, exist_ok=True)
        (site_packages / name).touch()

    offer_library(tmp_path)
    (site_packages / "dsportal/new.py").touch()
    offer_library(tmp_path)

    found = {str(path.relative_to(tmp_path / "library")) for path in tmp_path.glob("library/**/*")}
    assert found == {"dsportal", "dsportal/__init__.py", "dsportal/new.py"}
