"""What users would miss at work on a node: kernels and data of templates, sshd, and space."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from portal.hub.settings.loader import Settings
from portal.server.ssh import sshd
from portal.site.checks import workplace_probe
from portal.site.checks.finding import Grade
from portal.site.checks.test_job import program_source
from portal.site.checks.workplace_findings import (
    DATA,
    assess_workplace,
    describe_space,
    workplace_question,
)

CHECKOUT = Path(__file__).parents[5]
GOOD: dict[str, Any] = {
    "lacking": {},
    "data": {DATA[0]: ""},
    "has_sshd": True,
    "missing_shell": "",
    "free_mib": {"/home/ada": 12288, "/srv/isilon": 922112},
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder with templates, their data, and an environment that has one kernel."""
    (tmp_path / "server/bin").mkdir(parents=True)
    (tmp_path / "server/bin/python").symlink_to(sys.executable)
    spec = tmp_path / "server/share/jupyter/kernels/pytorch/kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": [str(tmp_path / "server/bin/python")]}))
    for name in ("pytorch", "tensorflow"):
        notebook = tmp_path / "templates" / name / "digits.ipynb"
        notebook.parent.mkdir(parents=True)
        notebook.write_text(json.dumps({"metadata": {"kernelspec": {"name": name}}}))
    data = tmp_path / DATA[0]
    data.parent.mkdir(parents=True)
    data.write_bytes(b"PK")
    return tmp_path


def look(site: Path, settings: Settings) -> dict[str, Any]:
    question = workplace_question(settings) | {
        "server": str(site / "server"),
        "templates": str(site / "templates"),
        "storage": [str(site)],
        "data_folders": [str(site / "isilon/datasets"), str(site)],
    }
    done = subprocess.run(
        [sys.executable, "-I", "-c", program_source(workplace_probe)],
        input=json.dumps(question).encode(),
        capture_output=True,
        check=True,
        env={"HOME": str(site)},
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_program_finds_what_templates_need(site: Path, settings: Settings) -> None:
    found = look(site, settings)

    assert found["lacking"] == {"tensorflow": ["tensorflow/digits.ipynb"]}
    assert found["data"] == {DATA[0]: ""}
    assert found["free_mib"][str(site)] > 0


def test_the_program_finds_what_is_wrong(site: Path, settings: Settings) -> None:
    (site / DATA[0]).write_bytes(b"")

    found = look(site, settings)
    findings = assess_workplace(found, settings, "node01")

    said = " ".join(one.sentence for one in findings)
    assert found["data"] == {DATA[0]: "empty"}
    assert "mnist-10k.npz, which cannot be read on node01: empty" in said
    assert "need the kernel tensorflow" in said


def test_a_node_where_all_is_there_has_no_finding(settings: Settings) -> None:
    assert assess_workplace(GOOD, settings, "node01") == []
    assert describe_space(GOOD) == "/home/ada has 12.0 GiB free, /srv/isilon 900.5"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lacking": {"tensorflow": ["a", "b", "c", "d"]}}, "lack: a, b, c and 1 more"),
        ({"data": {DATA[0]: "missing"}}, "mnist-10k.npz"),
        ({"free_mib": {"/home/ada": 500}}, "500 MiB free"),
        ({"missing_shell": "/bin/tcsh"}, "not have the user's login shell, /bin/tcsh"),
        ({"has_sshd": False}, "over ssh, but node01 has no sshd"),
    ],
)
def test_each_lack_is_a_warning_with_its_cure(
    settings: Settings, change: dict[str, Any], said: str
) -> None:
    (finding,) = assess_workplace(GOOD | change, settings, "node01")

    assert said in finding.sentence
    assert finding.grade is Grade.WARNING
    assert finding.cure


def test_a_kernel_that_the_site_left_out_is_not_missed(settings: Settings) -> None:
    found = GOOD | {"lacking": {"tensorflow": ["a"], "pytorch": ["b"]}}

    (missed,) = assess_workplace(found, settings, "node01", left_out=frozenset({"pytorch"}))

    assert "kernel tensorflow" in missed.sentence


def test_a_site_without_ssh_needs_no_sshd(settings: Settings) -> None:
    without = replace(settings, ssh=replace(settings.ssh, limit=0))

    assert assess_workplace(GOOD | {"has_sshd": False}, without, "node01") == []


def test_the_program_looks_for_sshd_where_a_session_does(site: Path, settings: Settings) -> None:
    assert workplace_probe.SSHD_FOLDERS == sshd.SBIN
    assert look(site, settings)["has_sshd"] is (shutil.which("sshd", path=sshd.SBIN) is not None)


def test_an_optional_template_misses_no_kernel(site: Path) -> None:
    notebook = site / "templates/tensorflow/digits.ipynb"
    metadata = {"kernelspec": {"name": "tensorflow"}, "portal": {"optional": True}}
    notebook.write_text(json.dumps({"metadata": metadata}))

    assert list(workplace_probe.lacking_kernels(site / "templates", set())) == ["pytorch"]


def test_kernels_of_the_site_itself_may_run_the_templates(site: Path) -> None:
    templates = site / "templates"

    assert list(workplace_probe.lacking_kernels(templates, {"ir"})) == ["pytorch", "tensorflow"]
    assert workplace_probe.lacking_kernels(templates, {"ir", "site-deep"}) == {}


def test_a_look_that_failed_is_told(settings: Settings) -> None:
    (finding,) = assess_workplace("no answer in 60 s", settings, "node01")

    assert finding.grade is Grade.WARNING
    assert "no answer in 60 s" in finding.sentence


def test_the_data_are_those_that_the_templates_read() -> None:
    source = (CHECKOUT / "notebook_templates/shared/digits_data.py").read_text()

    assert [f'Path("{one}")'.replace("/", '", "') in source for one in DATA] == [True]
