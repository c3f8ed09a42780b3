"""`dsportal install-launcher`: programs that root alone can change, and rules that visudo takes."""

import io
import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from deploy.environments.builder.files import launcher_programs
from deploy.environments.builder.plan import Plan
from portal.cli import main
from portal.site.commands.install_launcher import PROGRAMS, check_python
from spawner.errors import SiteError

# Names that every Debian has.
NAMES = ("--account", "nobody", "--users-group", "users", "--slurm-user", "daemon")


def install(folder: Path, *options: str) -> int:
    return main(["install-launcher", "--to", str(folder), *NAMES, "--yes", *options])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "jupyterhub/libexec"


def test_the_programs_are_roots_and_start_with_the_python_that_was_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old_umask = os.umask(0o077)
    try:
        assert install(folder) == 0
    finally:
        os.umask(old_umask)

    assert {path.name for path in folder.iterdir()} == set(PROGRAMS.values())
    for path in (folder, *folder.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o755
        assert path.stat().st_uid == 0
    first_line = (folder / "dsportal-launcher").read_text().partition("\n")[0]
    assert first_line == "#!/usr/bin/python3 -IS"
    assert capsys.readouterr().out.splitlines()[1:] == [
        f'nobody ALL=(%users) NOPASSWD: {folder}/dsportal-launcher ""',
        f'nobody ALL=(daemon) NOPASSWD: {folder}/dsportal-extender ""',
    ]


def test_a_program_answers(folder: Path) -> None:
    install(folder)

    done = subprocess.run(
        [folder / "dsportal-launcher"], input="{}", capture_output=True, text=True, check=False
    )

    assert "does not work for root" in json.loads(done.stdout)["stderr"]


def test_the_rules_are_written_for_sudo_alone(folder: Path, tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.touch()
    rules = tmp_path / "rules"

    assert install(folder, "--sudoers", str(rules), "--slurm-conf", str(conf)) == 0

    assert stat.S_IMODE(rules.stat().st_mode) == 0o440
    assert f"Defaults:nobody env_file={folder}/slurm.env\n" in rules.read_text()
    assert f"SLURM_CONF={conf}\n" in (folder / "slurm.env").read_text()
    assert not list(tmp_path.glob(".*"))


def test_a_second_installation_changes_the_programs_only(folder: Path) -> None:
    install(folder)
    (folder / "dsportal-launcher").write_text("old")

    assert install(folder) == 0

    assert (folder / "dsportal-launcher").read_text().startswith("#!/usr/bin/python3")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--users-group", "%x=ALL"), "no group %x=ALL"),
        (("--account", "nosuch"), "This host has no account nosuch."),
        (("--slurm-user", "nosuch"), "no account nosuch"),
        (("--users-group", "nosuch"), "no group nosuch"),
        (("--to", "libexec"), "libexec is not an absolute path"),
        (("--slurm-conf", "/no/slurm.conf"), "/no/slurm.conf is no file"),
        (("--python", "/no/python"), "/no/python cannot be run"),
    ],
)
def test_what_cannot_be_is_refused(
    folder: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(folder, *options) == 1

    assert said in capsys.readouterr().err


def test_a_dry_run_and_a_command_without_a_terminal_install_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())

    assert main(["install-launcher", "--to", str(folder), *NAMES]) == 1
    assert install(folder, "--dry-run") == 0

    assert not folder.exists()


def test_a_folder_that_others_can_change_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)

    assert install(folder) == 1

    assert f"chmod go-w {folder}" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_an_interpreter_of_somebody_else_is_refused(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.touch()
    os.chown(python, 65534, 65534)

    with pytest.raises(SiteError, match="can be changed by others than root"):
        check_python(python)


def test_the_programs_are_those_of_an_installed_portal() -> None:
    installed = launcher_programs(Plan())

    assert {source: path.name for source, path in installed.items()} == PROGRAMS
