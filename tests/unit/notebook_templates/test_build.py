"""The notebooks and their sources."""

import ast
import json
import re
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement

from portal.server.templates.cards import read_goals
from portal.server.templates.source import TemplateSource
from tests.support.load_file import load_file
from tests.support.source_code import statements, tree_of

TEMPLATES = Path(__file__).parents[3] / "notebook_templates"
SOURCE = """# ---
# jupyter:
#   kernelspec:
#     display_name: TensorFlow
#     name: tensorflow
# ---

# %% [markdown]
# # Title
#
# Text with *stars*.

# %%
x = 1


def double(x):
    return 2 * x

# %%
double(x)
"""


build = load_file(TEMPLATES / "build.py")


def str_of(source):
    return source.relative_to(TEMPLATES).as_posix()


@pytest.mark.parametrize("source", build.find_sources(), ids=str_of)
def test_a_notebook_equals_what_its_source_describes(source):
    notebook = source.with_suffix(".ipynb")
    expected = build.notebook_text(source.read_text("utf-8"))

    assert notebook.exists(), "run notebook_templates/build.py"
    assert notebook.read_text("utf-8") == expected, (
        f"{source.name} was changed: run notebook_templates/build.py. "
        f"If {notebook.name} was changed, move the change to {source.name} first."
    )


def test_every_notebook_has_a_source():
    notebooks = {*TEMPLATES.glob("*.ipynb"), *TEMPLATES.glob("*/*.ipynb")}

    assert notebooks == {path.with_suffix(".ipynb") for path in build.find_sources()}


def test_a_source_becomes_cells_of_text_and_code():
    notebook = json.loads(build.notebook_text(SOURCE))

    assert [cell["cell_type"] for cell in notebook["cells"]] == ["markdown", "code", "code"]
    assert "".join(notebook["cells"][0]["source"]) == "# Title\n\nText with *stars*."
    assert "".join(notebook["cells"][1]["source"]) == (
        "x = 1\n\n\ndef double(x):\n    return 2 * x"
    )
    assert notebook["metadata"]["kernelspec"]["name"] == "tensorflow"


def test_notebooks_are_valid_have_no_outputs_and_are_the_same_each_time():
    text = build.notebook_text(SOURCE)
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)

    assert all(cell.get("outputs", []) == [] for cell in notebook.cells)
    assert build.notebook_text(SOURCE) == text


def test_a_source_in_r_becomes_a_notebook_in_r():
    source = SOURCE.replace("#     name: tensorflow", "#     language: R\n#     name: ir")
    notebook = json.loads(build.notebook_text(source))

    assert notebook["metadata"]["kernelspec"]["language"] == "R"
    assert notebook["metadata"]["kernelspec"]["name"] == "ir"


def test_a_cell_is_tagged_for_the_gallery():
    source = SOURCE + '\n# %% tags=["gallery"]\ndouble(x)\n'
    cells = json.loads(build.notebook_text(source))["cells"]

    assert [cell["metadata"] for cell in cells] == [{}, {}, {}, {"tags": ["gallery"]}]


def test_a_magic_is_a_comment_of_the_source_alone():
    cells = json.loads(build.notebook_text(SOURCE + "\n# %%\n# %pip install x\nx = 1  # %\n"))

    assert cells["cells"][-1]["source"] == ["%pip install x\n", "x = 1  # %"]


def test_two_equal_cells_have_different_ids():
    cells = json.loads(build.notebook_text(SOURCE + "\n# %%\ndouble(x)\n"))["cells"]

    assert len({cell["id"] for cell in cells}) == len(cells)


@pytest.mark.parametrize("source", ["x = 1\n", "# %%\nx = 1\n"])
def test_a_source_without_a_kernel_is_refused(source):
    with pytest.raises(build.SourceError, match="names display_name and name of its kernel"):
        build.notebook_text(source)


@pytest.mark.parametrize("source", build.find_sources(), ids=str_of)
def test_a_notebook_states_data_time_and_devices_at_its_top(source):
    first_cell = json.loads(build.notebook_text(source.read_text("utf-8")))["cells"][0]
    text = "".join(first_cell["source"])

    assert all(f"**{word}**" in text for word in ("Data", "Time", "Devices"))
    assert source.with_suffix(".ipynb").relative_to(TEMPLATES).as_posix() in (
        TEMPLATES / "README.md"
    ).read_text("utf-8")


# What a site's kernel has to have, by the name that Python imports it under.
DISTRIBUTIONS = {
    "dask": "dask",
    "dask_jobqueue": "dask-jobqueue",
    "datasets": "datasets",
    "keras": "keras",
    "lightning": "lightning",
    "matplotlib": "matplotlib",
    "mlflow": "mlflow-skinny",
    "mxnet": "mxnet",
    "pandas": "pandas",
    "peft": "peft",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "tokenizers": "tokenizers",
    "transformers": "transformers",
    "numpy": "numpy",
    "onnxruntime": "onnxruntime",
    "PIL": "pillow",
    "dsportal.horovod_keras": "horovod",
    "tensorflow": "tensorflow",
    "torch": "torch",
    "torchvision": "torchvision",
    "torch.utils.tensorboard": "tensorboard",
}
# Part of each kernel.
OF_A_KERNEL = {"IPython", "dsportal"}
INSTALLED_BY_A_CELL = {"humanize"}


def imported_by(path, seen):
    """Yield what a source imports, and the modules of `shared` that it takes."""
    seen.add(path)
    for node in statements(tree_of(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module]
        else:
            continue
        for name in names:
            beside = TEMPLATES / "shared" / f"{name}.py"
            if beside.exists():
                yield from imported_by(beside, seen) if beside not in seen else ()
            elif name.partition(".")[0] not in {
                *sys.stdlib_module_names,
                *OF_A_KERNEL,
                *INSTALLED_BY_A_CELL,
            }:
                yield from {name, name.partition(".")[0]}
            elif name in DISTRIBUTIONS:
                yield name


@pytest.mark.parametrize(
    "source", [path for path in build.find_sources() if path.suffix == ".py"], ids=str_of
)
def test_a_notebook_declares_all_packages_that_it_imports(source):
    declared = json.loads(source.with_suffix(".ipynb").read_text("utf-8"))["metadata"]["portal"]
    names = {Requirement(text).name for text in declared["packages"]}

    imported = set(imported_by(source, set()))
    needed = {DISTRIBUTIONS[name] for name in imported if name in DISTRIBUTIONS}

    assert {name for name in imported if "." not in name} <= DISTRIBUTIONS.keys()
    assert needed <= names


LINK = re.compile(r"\]\(([^)]+)\)")


@pytest.mark.parametrize("source", build.find_sources(), ids=str_of)
def test_links_lead_to_the_templates_from_a_copy_elsewhere_too(source):
    links = LINK.findall(source.read_text("utf-8"))

    assert all(
        link.startswith(("../templates/", "../../templates/", "https://", "#")) for link in links
    )


@pytest.mark.parametrize("source", build.find_sources(), ids=str_of)
def test_readers_see_no_marks_for_linters_and_tests(source):
    cells = json.loads(build.notebook_text(source.read_text("utf-8")))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells)

    assert not re.search(r"# (noqa|type:|fmt:|ruff)|^Figure:|`templates/[\w/]+\.ipynb`", text)


@pytest.mark.parametrize("source", build.find_sources(), ids=str_of)
def test_a_copy_imports_from_the_copies_beside_it_before_the_templates(source):
    text = source.read_text("utf-8")
    beside, *_ = [*re.findall(r'"((?:\.\./)?shared)"', text), None]

    assert ("templates/shared" in text) == (beside is not None)
    if beside:
        assert (source.parent / beside).resolve() == TEMPLATES / "shared"
        assert text.index(f'"{beside}"') < text.index("templates/shared")


def test_packages_in_the_header_go_into_the_metadata():
    header = "#     name: tensorflow\n#   portal:\n#     packages: [keras>=3, numpy]\n"
    source = SOURCE.replace("#     name: tensorflow\n", header)

    metadata = json.loads(build.notebook_text(source))["metadata"]

    assert metadata["portal"] == {"packages": ["keras>=3", "numpy"]}
    assert metadata["kernelspec"]["name"] == "tensorflow"


def test_an_optional_notebook_says_so_in_its_metadata():
    header = "#     name: tensorflow\n#   portal:\n#     packages: []\n#     optional: true\n"
    source = SOURCE.replace("#     name: tensorflow\n", header)

    metadata = json.loads(build.notebook_text(source))["metadata"]

    assert metadata["portal"] == {"packages": [], "optional": True}


def test_each_template_has_one_goal_and_the_first_is_where_to_begin() -> None:
    source = TemplateSource(path=TEMPLATES, below="")
    goals = tomllib.loads((TEMPLATES / "goals.toml").read_text())["goal"]
    named = [name for goal in goals for name in goal["templates"]]

    assert sorted(named) == sorted(set(named))
    assert list(read_goals(source)) == named
    assert named[0] == "start-here.ipynb"
    assert (TEMPLATES / named[0]).is_file()


MEASURED = json.loads((TEMPLATES.parent / "docs/benchmarks/templates.json").read_text())
SECONDS = {"15 seconds": 15, "20 seconds": 20, "half a minute": 30, "45 seconds": 45} | {
    "one minute": 60,
    "one and a half minutes": 90,
    "two minutes": 120,
}


@pytest.mark.parametrize("name", MEASURED["notebooks"])
def test_the_time_that_a_notebook_states_is_that_of_its_last_run_within_a_factor_of_two(
    name: str,
) -> None:
    notebook = nbformat.read(TEMPLATES / name, as_version=4)
    (said,) = re.findall(r"\*\*Time\*\* \| (?:about )?([^|]+?)(?: on | with |,| \|)", str(notebook))

    measured_s = MEASURED["notebooks"][name]["seconds"]
    assert measured_s / 2 <= SECONDS[said] <= measured_s * 2, measured_s
