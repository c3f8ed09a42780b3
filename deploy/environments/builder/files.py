"""Files and folders that everybody may read and only root may change."""

import os
import shutil
from pathlib import Path
from typing import IO

from deploy.environments.builder.plan import Plan
from deploy.environments.builder.target import source_files

# Parts of notebook_templates that make or test the templates, not for users.
NOT_FOR_USERS = frozenset({"__init__.py", "build.py", "conftest.py", "tests"})
SOURCES_OF_NOTEBOOKS = frozenset({".py", ".R"})


def write_program(path: Path, text: str) -> None:
    """Write an executable file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    new.chmod(0o755)
    os.replace(new, path)


def replace_folder(folder: Path, new: Path) -> None:
    """Replace a folder, which need not exist, with a finished one.

    `new` is the finished folder, on the same file system.
    """
    old = folder.with_name(f"{folder.name}.old")
    # Left by a run that was killed in between.
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        # A folder in a lower layer of a container's image cannot be renamed, only copied.
        shutil.move(folder, old)
    os.replace(new, folder)
    shutil.rmtree(old, ignore_errors=True)


def launcher_path(plan: Plan) -> Path:
    """Return the one program that sudo lets the hub's account run as a user."""
    return plan.prefix / "libexec" / "dsportal-launcher"


def programs_dir(plan: Plan) -> Path:
    """Return the folder of the sources of the programs that sudo allows."""
    return plan.source_dir / "spawner" / "programs"


def launcher_programs(plan: Plan) -> dict[str, Path]:
    """Return where each privileged program is installed, by its source in `spawner/programs`."""
    launcher = launcher_path(plan)
    return {
        "launcher.py": launcher,
        "extend_time_limit.py": launcher.with_name("dsportal-extender"),
        "storage_checks.py": launcher.with_name("dsportal-storage-checks"),
    }


def install_launcher(plan: Plan, log: IO[str]) -> None:
    """Install the programs that sudo allows."""
    for name, path in launcher_programs(plan).items():
        _, _, program = (programs_dir(plan) / name).read_text().partition("\n")
        # -I keeps out the user's PYTHON variables and packages, -S the packages of the site.
        write_program(path, f"#!{plan.python} -IS\n{program}")
        print(f"installed {path}", file=log)


def templates_dir(plan: Plan) -> Path:
    """Return the folder that new users get their templates from."""
    return plan.prefix / "templates"


def install_templates(plan: Plan, log: IO[str]) -> None:
    """Copy the template notebooks and what they import."""
    source = plan.source_dir / "notebook_templates"
    new = plan.prefix / "templates.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    for file in source_files(source):
        relative = file.relative_to(source)
        # A .py without a notebook of that name is a module that notebooks import.
        may_be_source = file.suffix in SOURCES_OF_NOTEBOOKS
        is_source_of_notebook = may_be_source and file.with_suffix(".ipynb").exists()
        if NOT_FOR_USERS & set(relative.parts) or is_source_of_notebook:
            continue
        (new / relative).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, new / relative)
        print(f"template {relative}", file=log)
    replace_folder(templates_dir(plan), new)
