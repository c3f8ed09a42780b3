"""Which kernel runs a template: by the packages that it declares."""

from pathlib import Path
from typing import Any

import pytest

from portal.server.templates.kernels import (
    Match,
    OfferedKernel,
    match_kernel,
    packages_beside,
    parse_packages,
    read_needs,
)

PROGRAM = Path("/site/bin/python")


def notebook(*packages: str, kernel: str = "tensorflow", **kernelspec: str) -> dict[str, Any]:
    metadata = {"kernelspec": {"name": kernel, **kernelspec}}
    return {"metadata": metadata | {"portal": {"packages": list(packages)}}}


def kernel_with(*packages: str, language: str = "python") -> OfferedKernel:
    return OfferedKernel(program=PROGRAM, language=language, packages=parse_packages(packages))


def match(described: dict[str, Any], **kernels: OfferedKernel) -> Match:
    named = {name.replace("_", "-"): kernel for name, kernel in kernels.items()}
    return match_kernel(read_needs(described), named)


def test_the_kernel_that_a_notebook_names_is_taken_where_it_has_all() -> None:
    kernels = {"site_tf": kernel_with("keras"), "tensorflow": kernel_with("keras==3.9.1")}

    assert match(notebook("keras>=3"), **kernels) == Match(kernel="tensorflow")


def test_a_site_kernel_of_another_name_runs_what_its_packages_are_enough_for() -> None:
    kernels = {"python3": kernel_with("numpy==2.4.1"), "site_tf": kernel_with("Keras==3.9.1")}

    assert match(notebook("keras>=3"), **kernels) == Match(kernel="site-tf")


def test_a_kernel_of_the_right_name_without_a_package_gives_way_to_one_that_has_it() -> None:
    kernels = {"tensorflow": kernel_with("keras"), "site_hvd": kernel_with("keras", "horovod")}

    assert match(notebook("keras", "horovod"), **kernels).kernel == "site-hvd"


def test_what_the_nearest_kernel_lacks_is_told_with_the_next_step() -> None:
    kernels = {"python3": kernel_with(), "site_tf": kernel_with("keras==2.15.0", "numpy==1.26")}

    found = match(notebook("keras>=3", "numpy"), **kernels)

    assert found.kernel == ""
    assert found.lacks == "keras>=3"
    assert "The nearest, site-tf, lacks keras>=3" in found.advice
    assert "dsportal environments add NAME" in found.advice


def test_the_portals_own_package_is_in_every_kernel() -> None:
    found = match(notebook("dsportal", "keras"), site_tf=kernel_with("keras"))

    assert found.kernel == "site-tf"


@pytest.mark.parametrize(
    ("installed", "needed"),
    [
        ("tensorflow-cpu==2.21.0", "tensorflow"),
        ("onnxruntime-gpu==1.20.0", "onnxruntime"),
        ("nvidia_ml_py==13.0.0", "nvidia-ml-py"),
        ("torch==2.6.0a0+ecf3bae40a.nv25.1", "torch>=2.5"),
        ("torch", "torch>=2.5"),
        ("horovod==0.28.1+tf2.21.0", "horovod"),
    ],
)
def test_a_package_is_known_by_its_other_builds_and_spellings(installed: str, needed: str) -> None:
    assert match(notebook(needed), site=kernel_with(installed)).kernel == "site"


def test_a_kernel_of_unknown_contents_is_taken_only_for_its_own_name() -> None:
    unknown = OfferedKernel(program=PROGRAM)

    assert match(notebook("keras"), tensorflow=unknown).kernel == "tensorflow"
    assert match(notebook("keras"), other=unknown).lacks == "the kernel tensorflow"


def test_a_notebook_that_declares_nothing_needs_the_kernel_of_its_name() -> None:
    described = {"metadata": {"kernelspec": {"name": "tensorflow"}}}

    assert match(described, site=kernel_with("keras")).lacks == "the kernel tensorflow"
    assert match(described, tensorflow=kernel_with()).kernel == "tensorflow"
    assert match({}, site=kernel_with()) == Match()


def test_r_runs_in_a_kernel_of_r_alone() -> None:
    described = notebook(kernel="ir", language="R")
    kernels = {"python3": kernel_with(), "site_r": kernel_with(language="R")}

    assert match(described, **kernels).kernel == "site-r"
    assert match(described, python3=kernel_with()).lacks == "the kernel ir"


@pytest.mark.parametrize("metadata", [None, [], {"portal": 3}, {"portal": {"packages": "x"}}])
def test_metadata_of_another_form_says_nothing(metadata: Any) -> None:
    assert read_needs({"metadata": metadata}).packages is None


def test_a_requirement_that_is_none_hides_no_notebook() -> None:
    (needed,) = read_needs(notebook("keras", "not a requirement")).packages or ()

    assert needed.name == "keras"


def test_what_is_installed_beside_an_interpreter_is_seen_without_starting_it(
    tmp_path: Path,
) -> None:
    site_packages = tmp_path / "lib/python3.11/site-packages"
    for name in ("data_scientist_portal-0.1.0", "horovod-0.28.1+tf2.21.0"):
        (site_packages / f"{name}.dist-info").mkdir(parents=True)

    assert packages_beside(tmp_path / "bin/python") == {
        "data-scientist-portal": "0.1.0",
        "horovod": "0.28.1+tf2.21.0",
    }
    assert packages_beside(Path("/bin/bash")) is None
