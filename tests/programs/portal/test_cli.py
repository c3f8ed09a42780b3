"""What the command dsportal prints and how it ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from portal.cli import main, user_main
from portal.hub.settings.reference import example_toml, reference_markdown
from spawner import __version__


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a certificate of our own."""
    path = tmp_path_factory.mktemp("certificate") / "ca.pem"
    request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=test"
    files = ["-keyout", path.with_name("ca.key"), "-out", path]
    subprocess.run(["openssl", *request.split(), *files], check=True, capture_output=True)
    return path


@pytest.fixture
def site_toml(tmp_path: Path, minimal_toml: str, certificate: Path) -> Path:
    """Return a settings file that this host can serve."""
    path = tmp_path / "portal.toml"
    toml = minimal_toml.replace("/etc/data-scientist-portal/ldap-ca.pem", str(certificate))
    toml = toml.replace("[login]\n", "[login]\nallow_all = true\n")
    path.write_text(toml.replace("[hub]\n", f'[hub]\nstate_dir = "{tmp_path}"\n'))
    return path


@pytest.mark.parametrize("run", [main, user_main])
def test_version_is_that_of_the_package(run, capsys):
    with pytest.raises(SystemExit, match="0"):
        run(["--version"])
    assert run(["version"]) == 0
    assert capsys.readouterr().out == f"Data Scientist Portal {__version__}\n" * 2


@pytest.mark.parametrize("option", ["--gpus=-3", "--gpus=two", "--wait=-1", "--wait=nan"])
def test_a_number_that_cannot_be_meant_is_refused(option, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["check", option])

    assert option.partition("=")[2] in capsys.readouterr().err


def test_example_and_reference_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "example"]) == 0
    assert capsys.readouterr().out == example_toml()
    assert main(["config", "reference"]) == 0
    assert capsys.readouterr().out == reference_markdown()


def test_check_passes_settings_that_the_host_can_serve(
    site_toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "check", "--settings", str(site_toml)]) == 0
    assert "can start" in capsys.readouterr().out


def test_check_of_a_wrong_file_prints_one_line_and_exits_with_1(
    site_toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site_toml.write_text(site_toml.read_text().replace("address =", "adress ="))

    assert main(["config", "check", "--settings", str(site_toml)]) == 1

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "'adress'" in captured.err


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("allow_all = true", "allow_all = false", "Nobody may log in."),
        ("ca.pem", "other.pem", "No such file or directory"),
        ("ca.pem", "ca.key", "no certificate in it"),
        ('state_dir = "', 'state_dir = "/nowhere', "mode 0700"),
    ],
)
def test_check_names_what_the_host_lacks(
    site_toml: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, sentence: str
) -> None:
    site_toml.write_text(site_toml.read_text().replace(old, new))

    assert main(["config", "check", "--settings", str(site_toml)]) == 1
    assert sentence in capsys.readouterr().out


def test_the_command_needs_neither_jupyterhub_nor_a_network() -> None:
    """It also runs in environments that have no JupyterHub."""
    code = (
        "import sys; sys.modules['jupyterhub'] = None; sys.modules['ldap3'] = None;"
        "from portal.cli import main; sys.exit(main(['version']))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("words", [["drain"], ["config", "check"], ["check", "--user", "ada"]])
def test_a_command_of_administrators_says_in_a_session_where_it_is(words, capsys):
    assert user_main(words) == 1

    assert f"{words[0]} is for administrators" in capsys.readouterr().err
