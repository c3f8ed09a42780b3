"""What deploy/up adds by default and on request."""

from pathlib import Path

import pytest

from deploy.one_machine import extras
from deploy.one_machine.cli import up
from deploy.one_machine.extras import (
    build_targets,
    remove_extras,
    render_modulefile,
    steps_extra,
    wanted_extras,
)


def test_vs_code_mlflow_and_modules_are_there_unless_they_are_left_out() -> None:
    assert wanted_extras([], []) == ("modules", "code-server", "mlflow")
    assert wanted_extras(["xprof"], ["mlflow"]) == ("modules", "code-server", "xprof")
    assert steps_extra(wanted_extras([], ["modules"])) == []


def test_a_machine_with_lmod_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "missing_packages", lambda names: {*names} - {"lmod"})

    assert "this machine has Lmod" in extras.ensure_modules()


def test_what_takes_long_to_build_is_left_to_the_builder() -> None:
    wanted = ["xprof", "mlflow", "code-server", "netron", "apptainer", "modules"]

    in_order = ("code-server", "mlflow", "apptainer", "netron", "xprof")
    assert build_targets(wanted) == in_order
    assert [step.name for step in steps_extra(wanted)] == ["modules", "apptainer"]


def test_a_module_is_the_environment_of_a_kernel() -> None:
    lines = render_modulefile("pytorch").splitlines()

    assert lines[0] == "#%Module"
    assert lines[-3:] == [
        "conflict tensorflow",
        "prepend-path PATH /opt/data-scientist-portal/environments/pytorch/bin",
        "setenv KERAS_BACKEND torch",
    ]


def test_only_what_was_made_here_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "MODULES_DIR", tmp_path)
    monkeypatch.setattr(extras, "APPTAINER_LINK", tmp_path / "apptainer")
    (tmp_path / "pytorch").write_text(render_modulefile("pytorch"))
    (tmp_path / "tensorflow").write_text("#%Module\n# of the site\n")
    (tmp_path / "apptainer").symlink_to("/opt/site/bin/apptainer")

    remove_extras()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["apptainer", "tensorflow"]


def test_an_unknown_extra_is_refused_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        up(["--with", "lmod"])

    named = "'modules', 'code-server', 'mlflow', 'apptainer', 'netron', 'xprof'"
    assert named in capsys.readouterr().err
