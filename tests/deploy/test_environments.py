"""What the builder leaves on this machine, used as an account without rights would use it."""

import io
import json
import subprocess
import time
from pathlib import Path

import pytest

from deploy.environments.builder import pytorch
from deploy.environments.builder.choices import kept_flavour
from deploy.environments.builder.environment import ADDED_LATER, installed_pins
from deploy.environments.builder.files import launcher_path
from deploy.environments.builder.node import proxy_program
from deploy.environments.builder.package import KERNELS
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.target import PROGRAMS_DIR
from deploy.environments.builder.uv import PIN, canonical_name, locked, read_pins
from tests.deploy.conftest import as_nobody
from tests.support.cells import RUN_CELL

PLAN = Plan(flavour=kept_flavour(Plan().prefix))
SERVER = PLAN.environment("server")
TENSORFLOW = PLAN.environment("tensorflow")
ENVIRONMENTS = ("hub", "server", "tensorboard", "tensorflow", "pytorch")
HEAVY_TARGETS = (
    "hub",
    "server",
    "tensorboard",
    "horovod",
    "pytorch",
    "proxy",
    "python3",
    "kernels",
    "r",
    "datasets",
)

INSTALLED = """
import importlib.metadata, json
print(json.dumps({d.name: d.version for d in importlib.metadata.distributions()}))
"""
DIGITS = """
import json, numpy, sys
with numpy.load(sys.argv[1]) as digits:
    x, y = digits["x"], digits["y"]
n_of_each = numpy.bincount(y).tolist()
print(json.dumps([str(x.dtype), x.shape, int(x.max()), n_of_each, y[:500].tolist()]))
"""
PAGE = """
import json
from jupyterlab_server.config import get_page_config
print(json.dumps(get_page_config([])))
"""
EXPECTED = """
import io, matplotlib, pandas, PIL, pyarrow, requests, seaborn, tqdm.auto, ipywidgets
from sklearn.linear_model import LinearRegression
file = io.BytesIO()
pandas.DataFrame({"a": [1, 2]}).to_parquet(file)
total = int(pandas.read_parquet(file)["a"].sum())
# scikit-learn computes it with SciPy.
print(total if round(LinearRegression().fit([[0], [1]], [0, 2]).coef_[0]) == 2 else "wrong")
"""
# Nothing is downloaded: the network is made from a configuration, the tokenizer from its text.
TRANSFORMER = """
import torch, torchvision, accelerate, datasets, lightning, peft
import bokeh, dask.dataframe, dask_jobqueue
from tokenizers import models, pre_tokenizers, Tokenizer, trainers
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast
raw = Tokenizer(models.WordLevel(unk_token="[UNK]"))
raw.pre_tokenizer = pre_tokenizers.Whitespace()
trainer = trainers.WordLevelTrainer(special_tokens=["[UNK]", "[PAD]"], show_progress=False)
raw.train_from_iterator(["one two three"], trainer)
tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="[UNK]", pad_token="[PAD]")
sizes = {"num_attention_heads": 1, "hidden_size": 8, "intermediate_size": 8}
config = BertConfig(vocab_size=len(tokenizer), num_hidden_layers=1, num_labels=3, **sizes)
logits = BertForSequenceClassification(config)(**tokenizer(["two one"], return_tensors="pt")).logits
images = torchvision.models.resnet18(num_classes=3)(torch.zeros(2, 3, 32, 32))
print(logits.shape[1] if images.shape[1] == 3 else "wrong")
"""
EXPECTED_IN_R = """
suppressPackageStartupMessages({ library(ggplot2); library(dplyr); library(data.table) })
frame <- data.frame(a = 1:2)
plotted <- ggplot_build(ggplot(frame, aes(a, a)) + geom_point())$data[[1]]
cat(if (nrow(plotted) == 2) summarise(frame, total = sum(a))$total + 0 * data.table(a = 1)$a else 0)
"""


def test_building_again_changes_nothing_and_takes_no_time() -> None:
    build = [PLAN.recipes_dir / "build", *HEAVY_TARGETS]
    subprocess.run(build, check=True, capture_output=True, timeout=900)

    before = time.monotonic()
    said = subprocess.run(build, check=True, capture_output=True, text=True).stdout
    took_s = time.monotonic() - before

    *targets, _ = said.splitlines()
    assert targets
    assert {line.split()[1] for line in targets} == {"unchanged"}
    # Each of them takes minutes.
    assert took_s < 30


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_environment_holds_what_its_lock_names_and_nothing_else(name: str) -> None:
    text = as_nobody([PLAN.environment(name) / "bin/python", "-c", INSTALLED])
    installed = {canonical_name(key): version for key, version in json.loads(text).items()}

    # A kernel holds `dsportal` and nothing else of ours.
    own = installed.keys() & {"data-scientist-portal", "dsportal"}
    assert own == {"dsportal"} | ({"data-scientist-portal"} if name not in KERNELS else set())
    ours = ADDED_LATER | {"pip"}
    versions = {key: version for key, version in installed.items() if key not in ours}
    assert versions == installed_pins(PLAN, name)
    lock = locked(PLAN, name)
    if "+cpu" in versions.get(pytorch.PACKAGE, ""):
        lock = pytorch.replace_cuda(lock, pytorch.build_without_cuda(PLAN, io.StringIO()))
    assert versions.items() <= set(PIN.findall(lock))
    # A package that only some Pythons need may be missing.
    of_all = [line for line in lock.splitlines() if "python_full_version" not in line]
    assert read_pins("\n".join(of_all)).keys() <= versions.keys()


def test_the_hub_has_every_page_of_the_guide() -> None:
    (guides,) = PLAN.environment("hub").glob("lib/python3*/site-packages/portal/hub/guides")
    pages = {page.name for page in (PLAN.source_dir / "docs/use").glob("*.md")}

    assert {page.name for page in (guides / "use").glob("*.md")} == pages
    assert (guides / "reference/reasons.md").is_file()


def test_every_account_can_read_the_environments_and_none_but_root_can_change_them() -> None:
    find = ["find", PLAN.prefix / "environments", "-not", "-type", "l"]

    closed = subprocess.run([*find, "-not", "-perm", "-o+r"], capture_output=True, text=True)
    open_to_all = subprocess.run([*find, "-perm", "/go+w"], capture_output=True, text=True)

    assert closed.stdout == ""
    assert open_to_all.stdout == ""


def test_the_proxy_starts_without_rights() -> None:
    assert as_nobody([proxy_program(PLAN), "--version"]).strip() == "5.3.0"


def test_only_root_can_change_the_program_that_sudo_allows() -> None:
    launcher = launcher_path(PLAN)

    for path in (launcher, *launcher.parents):
        assert path.stat().st_uid == 0
        assert path.stat().st_mode & 0o022 == 0, path


def test_the_digits_are_real_and_any_slice_holds_all_of_them() -> None:
    text = as_nobody(
        [SERVER / "bin/python", "-c", DIGITS, PLAN.datasets_dir / "mnist/mnist-10k.npz"]
    )
    dtype, shape, largest, n_of_each, first = json.loads(text)

    assert (dtype, shape, largest) == ("uint8", [10_000, 28, 28], 255)
    # Counted in the package's own files, digit by digit.
    assert n_of_each == [1001, 1127, 991, 1032, 980, 863, 1014, 1070, 944, 978]
    assert set(first) == set(range(10))


@pytest.mark.parametrize(
    ("kernel", "cell"),
    [
        ("python3", "import sklearn, scipy, seaborn, pandas; print(pandas.Series([1, 2]).sum())"),
        ("tensorflow", f"{EXPECTED}import tensorflow as tf; print(int(tf.reduce_sum([1, 2])))"),
        ("pytorch", f"{EXPECTED}{TRANSFORMER}"),
        ("ir", EXPECTED_IN_R),
    ],
    ids=["python3", "tensorflow", "pytorch", "ir"],
)
def test_each_kernel_runs_a_cell_with_what_everybody_expects(
    home: Path, kernel: str, cell: str
) -> None:
    said = as_nobody([SERVER / "bin/python", "-c", RUN_CELL, kernel, cell], home)

    assert "wrong" not in said
    assert said.split()[-1] == "3"


def test_two_ranks_add_their_numbers(home: Path) -> None:
    horovodrun = [TENSORFLOW / "bin/horovodrun", "-np", "2", "-H", "localhost:2", "--gloo"]

    said = as_nobody(
        [*horovodrun, TENSORFLOW / "bin/python", PROGRAMS_DIR / "allreduce_check.py"], home
    )

    assert "rank 0 of 2: sum 3.0" in said
    assert "rank 1 of 2: sum 3.0" in said


def test_jupyterlab_neither_offers_a_rebuild_nor_fetches_news() -> None:
    page = json.loads(as_nobody([SERVER / "bin/python", "-c", PAGE]))

    assert page["buildCheck"] is False
    assert "@jupyterlab/apputils-extension:announcements" in page["disabledExtensions"]
    assert "@jupyterhub/jupyter-server-proxy" in page["disabledExtensions"]


def test_several_people_in_a_document_are_off_unless_a_session_is_shared() -> None:
    page = json.loads(as_nobody([SERVER / "bin/python", "-c", PAGE]))

    assert {"@jupyter/collaboration-extension", "@jupyter/docprovider-extension"} <= {
        *page["disabledExtensions"]
    }


def test_the_buttons_of_the_portal_are_known_to_jupyterlab() -> None:
    page = json.loads(as_nobody([SERVER / "bin/python", "-c", PAGE]))
    extensions = SERVER / "share/jupyter/labextensions"

    assert (extensions / "data-scientist-portal" / "package.json").is_file()
    assert "data-scientist-portal" not in page["disabledExtensions"]
