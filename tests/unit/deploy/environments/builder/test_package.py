from pathlib import Path

from deploy.environments.builder.package import offer_library


def test_the_folder_that_kernels_import_from_has_no_other_package(tmp_path: Path) -> None:
    site_packages = tmp_path / "lib/python3.11/site-packages"
    start = "dsportal/start/first/sitecustomize.py"
    modules = ("dsportal/__init__.py", "dsportal/__pycache__/a.pyc", "numpy/__init__.py", start)
    for name in modules:
        (site_packages / name).parent.mkdir(parents=True, exist_ok=True)
        (site_packages / name).touch()

    offer_library(tmp_path)
    (site_packages / "dsportal/new.py").touch()
    offer_library(tmp_path)

    files = [path for path in tmp_path.glob("library/**/*") if path.is_file()]
    assert {str(path.relative_to(tmp_path / "library")) for path in files} == {
        *("dsportal/__init__.py", "dsportal/new.py"),
        "dsportal/start/first/sitecustomize.py",
    }
