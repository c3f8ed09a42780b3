"""What uv does with a lock and with the site's own packages, on wheels that the test makes."""

import hashlib
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder.environment import (
    install_environment,
    installed_packages,
    installed_pins,
)
from deploy.environments.builder.extras import extras_path
from deploy.environments.builder.package_sources import SETTING
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import read_output
from deploy.environments.builder.target import fingerprint
from deploy.environments.builder.targets import BY_NAME
from tests.support.locks import lock_path, own_locks


def make_wheel(
    folder: Path, name: str, version: str, *, needs: Sequence[str] = (), module: str = ""
) -> str:
    """Make a wheel with an empty module or none; return its line of a lock."""
    info = f"{name}-{version}.dist-info"
    needed = "".join(f"Requires-Dist: {need}\n" for need in needs)
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **({f"{module}.py": ""} if module else {}),
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{name}=={version} \\\n    --hash=sha256:{digest}\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    """A prefix with the machine's uv, and a folder of wheels in place of any index."""
    folder = tmp_path_factory.mktemp("built")
    plan = Plan(
        prefix=folder / "prefix",
        log_dir=folder / "log",
        settings_dir=folder / "etc",
        source_dir=folder,
    )
    for made in (plan.log_dir, plan.settings_dir, folder / "wheels"):
        made.mkdir(parents=True)
    (plan.prefix / "environments").mkdir(parents=True)
    plan.environment("uv").symlink_to(Plan().environment("uv"))
    with pytest.MonkeyPatch.context() as patch:
        own_locks(plan, patch)
        patch.setenv(SETTING, str(folder / "wheels"))
        patch.setenv("UV_CACHE_DIR", str(folder / "cache"))
        yield plan


@pytest.fixture
def wheels(built: Plan) -> Path:
    return built.source_dir / "wheels"


def installed(plan: Plan) -> dict[str, str]:
    """Bring the hub's environment to its lock; return what is then in it."""
    install_environment(plan, "hub", sys.stderr)
    found = installed_packages(plan, plan.environment("hub"))
    # uv's lock is writable for everybody.
    assert not (plan.environment("hub") / ".lock").exists()
    return {name: version for name, version in found.items() if name != "pip"}


def test_an_environment_is_brought_to_its_lock_and_loses_all_else(
    built: Plan, wheels: Path
) -> None:
    lock_path(built, "hub").write_text(
        make_wheel(wheels, "alpha", "1.0") + make_wheel(wheels, "beta", "1.0")
    )
    assert installed(built) == {"alpha": "1.0", "beta": "1.0"}

    lock_path(built, "hub").write_text(make_wheel(wheels, "alpha", "2.0"))

    assert installed(built) == {"alpha": "2.0"}


def test_a_package_may_bring_the_files_of_the_one_that_it_replaces(
    built: Plan, wheels: Path
) -> None:
    for name in ("tensorflow-cpu", "tensorflow", "tensorflow-cpu"):
        line = make_wheel(wheels, name.replace("-", "_"), "1.0", module="tensorflow")
        lock_path(built, "hub").write_text(line)
        assert installed(built) == {name: "1.0"}
        python = built.environment("hub") / "bin/python"
        assert read_output([python, "-c", "import tensorflow"]) is not None, name


@pytest.mark.parametrize("wanted", ["1.0+cpu", "1.0"])
def test_another_build_of_the_same_version_is_installed_in_its_place(
    built: Plan, wheels: Path, wanted: str
) -> None:
    made = {version: make_wheel(wheels, "torch", version) for version in ("1.0", "1.0+cpu")}
    lines = {version: line.replace("==", "===") for version, line in made.items()}
    for version in sorted(lines, key=lambda version: version == wanted):
        lock_path(built, "hub").write_text(lines[version])
        assert installed(built) == {"torch": version}


def test_a_file_of_another_hash_is_refused(built: Plan, wheels: Path) -> None:
    lock_path(built, "hub").write_text(make_wheel(wheels, "gamma", "1.0"))
    make_wheel(wheels, "gamma", "1.0", needs=("alpha",))

    with pytest.raises(DeployError, match="ended with status"):
        installed(built)


def test_packages_of_the_site_stay_until_it_takes_them_from_its_list(
    built: Plan, wheels: Path
) -> None:
    lock_path(built, "hub").write_text(make_wheel(wheels, "alpha", "1.0"))
    make_wheel(wheels, "alpha", "2.0")
    make_wheel(wheels, "delta", "1.0")
    make_wheel(wheels, "login", "3.0", needs=("alpha", "delta"))
    before = fingerprint(BY_NAME["hub"], built)
    extras_path(built, "hub").write_text("# Ours\nlogin\n")

    assert fingerprint(BY_NAME["hub"], built) != before
    wanted = {"alpha": "1.0", "delta": "1.0", "login": "3.0"}
    assert installed(built) == wanted
    # A newer one comes when the site asks for it, not whenever something else is built.
    make_wheel(wheels, "login", "4.0", needs=("alpha", "delta"))
    assert installed(built) == wanted

    extras_path(built, "hub").unlink()
    assert installed(built) == {"alpha": "1.0"}


def test_a_package_of_the_site_that_does_not_go_with_the_lock_is_refused(
    built: Plan, wheels: Path
) -> None:
    lock_path(built, "hub").write_text(make_wheel(wheels, "alpha", "1.0"))
    make_wheel(wheels, "login", "5.0", needs=("alpha>=2",))
    other = replace(built, settings_dir=built.source_dir / "other")
    other.settings_dir.mkdir()
    extras_path(other, "hub").write_text("login==5.0\n")

    with pytest.raises(DeployError) as caught:
        installed(other)

    assert str(extras_path(other, "hub")) in caught.value.next_step
    assert installed(built) == {"alpha": "1.0"}


@pytest.fixture
def raised(built: Plan, wheels: Path) -> Plan:
    """A site that asks for the mended alpha 1.1, where the lock has 1.0 and beta needs it."""
    alpha = make_wheel(wheels, "alpha", "1.0")
    lock_path(built, "hub").write_text(
        alpha + make_wheel(wheels, "beta", "1.0", needs=("alpha>=1",))
    )
    make_wheel(wheels, "alpha", "1.1")
    other = replace(built, settings_dir=built.source_dir / "raised")
    other.settings_dir.mkdir(exist_ok=True)
    extras_path(other, "hub").write_text("Alpha==1.1\n")
    return other


def test_a_site_raises_a_locked_package_to_a_mended_version(raised: Plan, built: Plan) -> None:
    assert installed(raised) == {"alpha": "1.1", "beta": "1.0"}
    assert installed_pins(raised, "hub")["alpha"] == "1.1"

    assert installed(built) == {"alpha": "1.0", "beta": "1.0"}


def test_a_release_that_has_the_mended_version_is_not_held_back(raised: Plan, wheels: Path) -> None:
    lock_path(raised, "hub").write_text(make_wheel(wheels, "alpha", "1.10"))

    assert installed(raised) == {"alpha": "1.10"}


def test_a_package_is_not_raised_past_what_others_of_the_lock_need(
    raised: Plan, wheels: Path
) -> None:
    alpha = make_wheel(wheels, "alpha", "1.0")
    gamma = make_wheel(wheels, "gamma", "2.0", needs=("alpha<1.1",))
    lock_path(raised, "hub").write_text(alpha + gamma)

    with pytest.raises(DeployError) as caught:
        installed(raised)

    assert str(extras_path(raised, "hub")) in caught.value.next_step
