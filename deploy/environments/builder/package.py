"""This project's own packages: two wheels, of which kernels get that of `dsportal`."""

import shutil
import tempfile
from pathlib import Path
from typing import IO

from deploy.environments.builder.environment import install_environment
from deploy.environments.builder.files import replace_folder
from deploy.environments.builder.kernels import OF_OWN_LOCK
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import run
from deploy.environments.builder.target import source_files

SOURCES = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "spawner", "portal")
LINKS = "portal/hub/guides"
# What these link to.
GUIDES = (
    "docs/use",
    "docs/operate/day-to-day.md",
    *(f"docs/reference/reasons{of}.md" for of in ("", "-ended", "-limits", "-refused")),
    "docs/images",
)
PICTURES = "docs/images"
TEMPLATES = "notebook_templates"
LABEXTENSION = "data-scientist-portal"
# The commands of sessions that are scripts.
SCRIPTS = {"dsportal-activate": "activate.sh", "python": "program.sh"}
INHERITED = "dsportal/task/inherited.py"
SLURM_PROGRAMS = ("salloc", "sbatch", "srun")
# Of the console scripts of both wheels; a session's server is started by its own first line.
COMMANDS = ("dsportal", "dsportal-user")
LIBRARY = "dsportal"
LIBRARY_SOURCE = "portal/dsportal"
# A kernel holds what users import and nothing else of this project: `portal` and `spawner` are the
# names of other packages, too, which users may install.
KERNELS = ("tensorflow", "pytorch", *OF_OWN_LOCK)
ENVIRONMENTS = ("hub", "server", "tensorboard", *KERNELS)


def sources(plan: Plan) -> list[Path]:
    """Return the files and folders of the checkout that the wheels are made from."""
    return [plan.source_dir / name for name in (*SOURCES, *GUIDES, TEMPLATES)]


def present_environments(plan: Plan) -> list[str]:
    """Return the portal's environments that exist on this machine, in the order of ENVIRONMENTS."""
    return [name for name in ENVIRONMENTS if plan.environment(name).is_dir()]


def install_package(plan: Plan, log: IO[str]) -> None:
    """Build the wheels and install them into the environments that exist."""
    install_environment(plan, "package", log)
    with tempfile.TemporaryDirectory(prefix="dsportal-package-") as folder:
        wheels = build_wheels(plan, Path(folder), log)
        for name in present_environments(plan):
            python = plan.environment(name) / "bin/python"
            # The version stays the same when sources change, and pip would keep what is installed.
            options = ("--no-deps", "--force-reinstall")
            held = [one for one in wheels if name not in KERNELS or one.name.startswith(LIBRARY)]
            # That of the command last: pip removes what the other one had before.
            for wheel in held:
                run([python, "-m", "pip", "install", *options, wheel], log=log)
            isolate_commands(plan.environment(name))
    if plan.environment("server").is_dir():
        offer_commands(plan.environment("server"))
        offer_library(plan.environment("server"))
        offer_labextension(plan)
    if plan.environment("hub").is_dir():
        offer_pictures(plan)


def offer_commands(server: Path) -> None:
    """Create the folder in every session's PATH: the portal's commands, and ways to Slurm's."""
    folder = server / "commands"
    folder.mkdir(exist_ok=True)
    program = folder / "dsportal"
    program.unlink(missing_ok=True)
    # Relative, so that an environment can be moved.
    program.symlink_to("../bin/dsportal-user")
    for name, script in SCRIPTS.items():
        (source,) = server.glob(f"lib/python3*/site-packages/portal/environments/{script}")
        shutil.copyfile(source, folder / name)
        (folder / name).chmod(0o755)
    for name in ("pip", "pip3", "jupyter", "pandoc"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to("python")
    (program,) = server.glob(f"lib/python3*/site-packages/{INHERITED}")
    for name in SLURM_PROGRAMS:
        # Without site-packages, which a program that imports nothing need not look for.
        text = f"#!{server / 'bin/python'} -IS\n{program.read_text(encoding='utf-8')}"
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)


def isolate_commands(environment: Path) -> None:
    """Have the command `dsportal` import nothing that a user's PYTHONPATH holds."""
    for path in environment.glob("bin/dsportal*"):
        first, _, rest = path.read_text(encoding="utf-8").partition("\n")
        if path.name in COMMANDS and first.endswith("/python"):
            path.write_text(f"{first} -I\n{rest}", encoding="utf-8")


def offer_labextension(plan: Plan) -> None:
    """Put what JupyterLab of the portal's sessions shows where JupyterLab looks for it.

    It is in no wheel: installed into a site's own environment, that changes nothing of its Jupyter.
    """
    sources, share = plan.source_dir / "portal/server", plan.environment("server") / "share/jupyter"
    new = plan.environment("server") / "labextension.new"
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(sources / "labextension", new)
    (share / "labextensions").mkdir(parents=True, exist_ok=True)
    replace_folder(share / "labextensions" / LABEXTENSION, new)
    settings = share / "lab/settings/overrides.d"
    settings.mkdir(parents=True, exist_ok=True)
    shutil.copy(sources / "lab_settings" / f"{LABEXTENSION}.json", settings)


def offer_pictures(plan: Plan) -> None:
    """Put the pictures of the guides beside the guides that the hub shows; nodes need none."""
    (guides,) = plan.environment("hub").glob("lib/python3*/site-packages/portal/hub/guides")
    new = guides / "images.new"
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(plan.source_dir / PICTURES, new)
    replace_folder(guides / "images", new)


def offer_library(server: Path) -> None:
    """Create the folder that every kernel of a session imports `dsportal` from.

    It holds no other package.
    """
    new = server / "library.new"
    shutil.rmtree(new, ignore_errors=True)
    (installed,) = server.glob(f"lib/python3*/site-packages/{LIBRARY}")
    # A copy, since an image gets this folder alone; compiled files would be for one Python.
    shutil.copytree(installed, new / LIBRARY, ignore=shutil.ignore_patterns("__pycache__"))
    replace_folder(server / "library", new)


def build_wheels(plan: Plan, folder: Path, log: IO[str]) -> list[Path]:
    """Build the wheels of the portal and of `dsportal`, which users import, in an empty folder.

    The environment `package` must exist.
    """
    copy = copy_sources(plan, folder / "source")
    python = plan.environment("package") / "bin/python"
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", str(folder))
    run([python, "-m", "pip", "wheel", *options, copy, copy / LIBRARY_SOURCE], log=log)
    return sorted(folder.glob("*.whl"))


def copy_sources(plan: Plan, copy: Path) -> Path:
    """Copy the wheels' sources, so that the build leaves nothing in the checkout.

    Returns `copy`, which must not exist yet.
    """
    for source in sources(plan):
        for file in source_files(source) if source.is_dir() else [source]:
            target = copy / file.relative_to(plan.source_dir)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    # Links to folders, which are no files.
    for link in (plan.source_dir / LINKS).iterdir():
        if link.is_symlink():
            (copy / LINKS / link.name).symlink_to(link.readlink())
    return copy
