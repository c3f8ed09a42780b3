"""The steps of the image that copy single files copy all that the next program needs."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from deploy.environments.builder.plan import Plan
from deploy.environments.builder.targets import TARGETS

CHECKOUT = Path(__file__).parents[3]


def test_each_program_starts_from_what_was_copied_before_it(tmp_path: Path) -> None:
    lines = (CHECKOUT / ".containerignore").read_text().splitlines()
    sent = {line.removeprefix("!") for line in lines if line.startswith("!")}
    started = []
    for line in (CHECKOUT / "Containerfile").read_text().replace("\\\n", " ").splitlines():
        order, _, rest = line.partition(" ")
        if order == "COPY":
            *sources, target = rest.split()
            assert {Path(source).parts[0] for source in sources} <= sent, rest
            for source in sources:
                copy(CHECKOUT / source, tmp_path / target, is_folder=target.endswith("/"))
        elif order == "RUN" and rest.startswith("deploy/"):
            program = rest.split()[0]
            help_ = subprocess.run(
                ["/usr/bin/python3", "-I", "-B", program, "--help"],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert help_.returncode == 0, f"{rest}: {help_.stderr}"
            started.append(program)
            if program == "deploy/environments/build":
                assert lacking(tmp_path, rest.partition("&&")[0].split()[1:]) == [], rest

    assert started == ["deploy/environments/build", "deploy/up", "deploy/environments/build"]


def lacking(copied: Path, words: Sequence[str]) -> list[str]:
    """Return what the named targets are made from and nobody has copied."""
    plan = Plan(source_dir=CHECKOUT)
    named = [target for target in TARGETS if target.name in words]
    files = {file for target in named for file in target.made_from(plan) if isinstance(file, Path)}
    own = sorted(file.relative_to(CHECKOUT) for file in files if file.is_relative_to(CHECKOUT))
    return [str(file) for file in own if not (copied / file).exists()]


def copy(source: Path, target: Path, *, is_folder: bool) -> None:
    """Copy as a Containerfile does: of a folder what is in it, a file into a folder or as it."""
    if source.is_dir():
        skipped = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=skipped)
    else:
        path = target / source.name if is_folder else target
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, path)
