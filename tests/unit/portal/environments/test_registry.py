"""The registry of environments: what its files may say, and what becomes of a wrong entry."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from portal.cli import main
from portal.environments.command import Node, kernel_spec
from portal.environments.entry import Environment, parse_entry
from portal.environments.errors import RegistryError
from portal.environments.languages import R
from portal.environments.probe import probe_node, try_environment
from portal.environments.registry import (
    OWN_PATH,
    add_entry,
    change_entry,
    read_registry,
    remove_entry,
)
from tests.support.told import told


def parse(**table: Any) -> Environment:
    return parse_entry("torch", table, where="environments.toml")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"virtualenvs": "/v"}, r"Unknown key 'virtualenvs'.*Keys: virtualenv"),
        ({"name": "x"}, "has 0 of the keys virtualenv, conda, modules, image, interpreter"),
        ({"image": "/i.sif", "conda": "/c"}, "has 2 of the keys"),
        ({"image": "i.sif"}, "image in .* must be an absolute path"),
        ({"image": "/i:/etc"}, "without ':' and ','"),
        ({"image": "/i.sif", "binds": "/srv"}, "where a list belongs"),
        ({"image": "/i.sif", "binds": ["/srv:/etc:rw"]}, "binds in .* without ':'"),
        ({"modules": []}, "modules in .* is empty"),
        ({"modules": ["--", "x"]}, "'--', which names no module"),
        ({"modules": ["a; rm -rf ~"]}, "which names no module"),
        ({"modules": ["$(id)"]}, "which names no module"),
        ({"conda": "/c", "language": "julia"}, "There are: python, python2, r"),
        ({"conda": "/c", "name": "a\nb"}, "must be a line of text"),
        ({"conda": "/c", "variables": {"A B": "x"}}, "cannot be set"),
        ({"conda": "/c", "packages": "numpy"}, "where a list belongs"),
        ({"conda": "/c", "packages": ["numpy >= 2"]}, "must hold texts such as 'numpy==2.4.1'"),
        ({"conda": 3}, "must be a line of text"),
    ],
)
def test_a_wrong_entry_is_told_by_its_name_and_key(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RegistryError, match=sentence) as caught:
        parse(**table)

    assert "[torch] of environments.toml" in str(caught.value)


@pytest.mark.parametrize("name", ["../x", "A", "", "a b", "x" * 62])
def test_a_name_cannot_be_a_path(name: str) -> None:
    with pytest.raises(RegistryError, match="is not a valid name"):
        parse_entry(name, {"conda": "/c"}, where="f")


def test_a_wrong_entry_takes_nothing_from_the_others(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text('[good]\nconda = "/c"\n[bad]\ncnda = "/c"\n')
    own = tmp_path / OWN_PATH
    own.parent.mkdir(parents=True)
    own.write_text("not TOML")

    registry = read_registry(site, tmp_path)

    assert [e.id for e in registry.environments] == ["good"]
    assert len(registry.problems) == 2
    assert "Unknown key 'cnda' in [bad]" in registry.problems[0]
    assert "is not TOML" in registry.problems[1]


def test_ones_own_environment_does_not_hide_one_of_the_site(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    for path, is_own in ((site, False), (tmp_path / OWN_PATH, True)):
        add_entry(path, "torch", {"virtualenv": "/v", "name": "Torch"}, is_own=is_own)

    names = [e.kernel_name for e in read_registry(site, tmp_path).environments]

    assert names == ["site-torch", "own-torch"]


def test_what_is_added_reads_back_as_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "folder/environments.toml"
    table = {"image": '/a "b" \\ é.sif', "binds": ["/srv"], "variables": {"A": "x\ty"}}

    added = add_entry(path, "e.1", table, is_own=False)

    assert read_registry(path, tmp_path).environments == (added,)
    with pytest.raises(RegistryError, match=r"has an environment 'e\.1' already"):
        add_entry(path, "e.1", table, is_own=False)


def test_an_entry_that_cannot_be_written_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "environments.toml"
    path.write_text('[old]\nconda = "/c"\n')

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(RegistryError, match="cannot be written: No space left"):
        add_entry(path, "new", {"conda": "/d"}, is_own=True)

    assert path.read_text() == '[old]\nconda = "/c"\n'
    assert {file.name for file in tmp_path.iterdir()} == {path.name, f".{path.name}.lock"}


def test_a_registry_stays_a_link_with_its_permissions(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.toml"
    kept.touch(mode=0o640)
    path = tmp_path / "environments.toml"
    path.symlink_to(kept)

    add_entry(path, "new", {"conda": "/d"}, is_own=True)

    assert path.is_symlink()
    assert "[new]" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o640


def test_what_is_removed_takes_nothing_else_with_it(tmp_path: Path) -> None:
    path = tmp_path / "environments.toml"
    path.write_text(
        '# mine\n[a]\nconda = "/a"\n\n["b"]\nconda = "/b"\n[b.variables]\nX = "1"\n'
        '[c]\nmodules = ["x"]  # kept\n'
    )

    remove_entry(path, "b")

    assert path.read_text() == ('# mine\n[a]\nconda = "/a"\n\n[c]\nmodules = ["x"]  # kept\n')
    with pytest.raises(RegistryError, match=r"has no environment 'b'. There are: a, c\."):
        remove_entry(path, "b")


@pytest.mark.parametrize(
    "written",
    ['b.conda = "/b"\n', 'b = {conda = "/b"}\n', '["b"]\nconda = """\n[c]/b"""\n'],
)
def test_an_entry_is_removed_however_it_is_written(tmp_path: Path, written: str) -> None:
    path = tmp_path / "environments.toml"
    path.write_text(f'{written}[c]\nconda = "/c"\n')

    remove_entry(path, "b")

    assert path.read_text() == '[c]\nconda = "/c"\n'


def test_an_entry_is_changed_in_its_place_with_its_comments(tmp_path: Path) -> None:
    path = tmp_path / "environments.toml"
    text = (
        '[b]\n# Asked for by the group of ada.\nconda = "/b"\npackages = ["a==1"]  # chosen\n\n'
        '# The old one.\n[c]\nconda = "/c"\n'
    )
    path.write_text(text)

    change_entry(path, "b", {"packages": ["a==2"]})

    assert path.read_text() == text.replace("a==1", "a==2")
    with pytest.raises(RegistryError, match="no environment 'd'"):
        change_entry(path, "d", {"packages": []})


def test_an_image_sees_the_folders_of_the_settings_and_the_gpus() -> None:
    node = Node(container=Path("/bin/apptainer"), binds=(Path("/srv/isilon"),), has_gpus=True)

    spec = kernel_spec(parse(image="/t.sif", binds=["/data"]), node)

    assert spec["argv"] == [
        *("/bin/apptainer", "exec", "--nv", "--bind=/srv/isilon", "--bind=/data", "/t.sif"),
        *("python3", f"{node.start}/kernel.py", "-f", "{connection_file}"),
    ]


def test_r_is_started_by_its_own_kernel() -> None:
    environment = parse(interpreter="/usr/bin/R", language="r", name="R 4")

    spec = kernel_spec(environment, Node())

    assert environment.language is R
    assert (spec["language"], spec["display_name"]) == ("R", "R 4")
    r = spec["argv"].index("/usr/bin/R")
    assert "IRkernel::main()" in spec["argv"][r:]
    assert "--no-restore" in spec["argv"][r:]


def test_a_virtual_environments_programs_come_first() -> None:
    spec = kernel_spec(parse(virtualenv="/v", variables={"OMP_NUM_THREADS": "1"}), Node())

    assert spec["env"] == {
        "PATH": "/v/bin:${PATH}",
        "VIRTUAL_ENV": "/v",
        "OMP_NUM_THREADS": "1",
        "PORTAL_KERNEL": "torch",
    }


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"virtualenv": "/nowhere"}, "/nowhere/bin/python3 does not exist"),
        ({"modules": ["torch/2"]}, "neither environment-modules nor Lmod"),
        ({"image": "/t.sif"}, "neither apptainer nor singularity"),
        ({"interpreter": "/bin/false"}, "does not start a kernel, because it needs ipykernel"),
    ],
)
def test_what_does_not_work_here_says_why(table: dict[str, Any], sentence: str) -> None:
    assert sentence in try_environment(parse(**table), Node()).problem


def test_an_interpreter_that_hangs_is_given_up(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)

    found = try_environment(parse(interpreter=str(program)), Node(), timeout_s=0.2)

    assert found.problem == "It did not answer within 0.2 s."


def test_the_activation_scripts_of_conda_are_read_before_the_kernel(tmp_path: Path) -> None:
    scripts = tmp_path / "etc/conda/activate.d"
    scripts.mkdir(parents=True)
    (scripts / "cuda.sh").write_text("export CUDA_HOME=here\n")
    program = tmp_path / "bin/python3"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$CUDA_HOME $CONDA_PREFIX $1" >&2\nexit 1\n')
    program.chmod(0o755)

    found = try_environment(parse(conda=str(tmp_path)), Node())

    assert found.problem.endswith(f"Its last output: here {tmp_path} -c.")


def test_the_folders_of_the_settings_are_bound_where_they_are_there(tmp_path: Path) -> None:
    node = probe_node(told(environments={"image_binds": [str(tmp_path), "/not/here"]}))

    assert tmp_path in node.binds
    assert Path("/not/here") not in node.binds
    assert node.has_gpus
    assert not probe_node({"PORTAL_GPUS_SIMULATED": "1"}).has_gpus


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = {"environments": {"registry": str(tmp_path / "site.toml")}}
    monkeypatch.setenv("PORTAL_SETTINGS", json.dumps(settings))
    return tmp_path


def test_what_does_not_work_is_not_stored(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["environments", "add", "gone", "--virtualenv", "/gone"]) == 1

    said = capsys.readouterr().err
    assert "gone was not added. /gone/bin/python3 does not exist" in said
    assert "--untried" in said
    assert not (home / OWN_PATH).exists()


def test_only_ones_own_environments_are_removed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = home / "site.toml"
    site.write_text('[torch]\nconda = "/c"\n')

    assert main(["environments", "remove", "torch", "--yes"]) == 1
    assert "'torch' belongs to the site. Ask the administrators" in capsys.readouterr().err
    assert main(["environments", "remove", "absent", "--yes"]) == 1
    assert "has no environment 'absent'. There are: none." in capsys.readouterr().err
    assert site.read_text() == '[torch]\nconda = "/c"\n'


@pytest.mark.parametrize(("answer", "status"), [("y", 0), ("", 1), ("n", 1)])
def test_nothing_is_removed_before_the_user_says_yes(
    home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, status: int
) -> None:
    add_entry(home / OWN_PATH, "mine", {"conda": "/c"}, is_own=True)
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr("builtins.input", lambda _: answer)

    assert main(["environments", "remove", "mine"]) == status

    assert bool(read_registry(home / "site.toml", home).environments) == bool(status)


def test_an_empty_list_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["environments", "list"]) == 0

    assert "To add one: dsportal environments add ID" in capsys.readouterr().out
