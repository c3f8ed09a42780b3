"""The stand-in of the hub's tests offers what the real spawner offers, in the same form."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.hub import pages
from spawner.hub.cluster_offer import ClusterOffer
from spawner.options.traits import SiteTraits
from spawner.session import cluster as real_cluster
from spawner.session.spawn_error import StartFailedError
from spawner.slurm.catalog import Catalog
from spawner.spawner import SlurmGPUSpawner
from tests.hub import stand_in_spawner
from tests.hub.private_hub import node_line
from tests.hub.stand_in_spawner import StandInSpawner

HUB_DIR = Path(pages.__file__).parents[1]
READERS = ("admin", "form", "mail", "messages", "pages")
PAIRS = (
    (StandInSpawner, SlurmGPUSpawner),
    (stand_in_spawner.Cluster, real_cluster.Cluster),
    (stand_in_spawner.StandInOffer, ClusterOffer),
)
OFFERED = [
    pytest.param(stand_in, real, name, id=f"{stand_in.__name__}.{name}")
    for stand_in, real in PAIRS
    for name in vars(stand_in)
    if not name.startswith("_")
]


def names_of(kind: type) -> set[str]:
    """Return what objects of a class have, what `__init__` gives them included."""
    assigned = {
        target.attr
        for target in ast.walk(ast.parse(inspect.getsource(kind)))
        if isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store)
    }
    return {*dir(kind), *assigned}


def read_by_pages(owner: str) -> Iterator[str]:
    """Yield the attributes that pages and interfaces of the hub read of `owner`."""
    for path in (path for folder in READERS for path in (HUB_DIR / folder).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                read_of = ast.unparse(node.value)
                if read_of == owner or read_of.endswith(f".{owner}"):
                    yield node.attr


def form_of(kind: type, name: str) -> tuple[object, ...] | None:
    """Return how a method is called and what it returns; None for a value."""
    value = inspect.getattr_static(kind, name)
    if not inspect.isfunction(value):
        return None
    signature = inspect.signature(value)
    parameters = [(each.name, each.kind, each.default) for each in signature.parameters.values()]
    is_async = (inspect.iscoroutinefunction(value), inspect.isasyncgenfunction(value))
    return (parameters, is_async)


def returned_by(kind: type, name: str) -> object:
    """Return what a method or property of our own says that it returns; None if it says nothing."""
    value = inspect.getattr_static(kind, name)
    function = value.fget if isinstance(value, property) else value
    if not callable(function):
        return None
    # A module may postpone its annotations.
    return inspect.get_annotations(function, eval_str=True).get("return")


@pytest.mark.parametrize(("stand_in", "real", "name"), OFFERED)
def test_what_the_stand_in_offers_the_real_one_offers_in_the_same_form(
    stand_in: type, real: type, name: str
) -> None:
    assert name in names_of(real)
    if not hasattr(real, name):
        return
    assert form_of(stand_in, name) == form_of(real, name)
    both = {returned_by(stand_in, name), returned_by(real, name)} - {None, Any}
    assert len(both) <= 1


@pytest.mark.parametrize(
    ("owner", "pair"), [("spawner", PAIRS[0]), ("here.cluster", PAIRS[1]), ("here", PAIRS[2])]
)
def test_what_the_pages_read_both_have(owner: str, pair: tuple[type, type]) -> None:
    read = set(read_by_pages(owner))

    assert read
    assert [read - names_of(kind) for kind in pair] == [set(), set()]


class OneNode(SiteTraits):
    """A spawner's settings, and a cluster with one node."""

    req_account = req_partition = req_qos = StandInSpawner.req_account
    user = SimpleNamespace(name="ada")
    session: Any = None

    def on(self, cluster: str) -> Any:
        return self

    async def read_catalog(self) -> Catalog:
        return Catalog.parse(node_line("node01"))


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"gpus": "5"}, "5 GPUs"),
        ({"gpus": "1", "gpu_type": "a100"}, "a100"),
        ({"gpus": "1", "hours": "48"}, "48 hours"),
        ({"prologue": "id"}, "prologue"),
    ],
    ids=str,
)
async def test_the_stand_in_refuses_what_the_real_one_refuses(
    options: dict[str, str], refusal: str
) -> None:
    spawner: Any = OneNode()

    with pytest.raises(StartFailedError, match=re.escape(refusal)):
        await stand_in_spawner.take_options(spawner, options)

    assert spawner.session is None


@pytest.mark.parametrize(("options", "n_gpus"), [({}, 1), ({"gpus": "4"}, 4)], ids=str)
async def test_the_stand_ins_session_has_the_gpus_that_were_asked_for(
    options: dict[str, str], n_gpus: int
) -> None:
    spawner: Any = OneNode()

    await stand_in_spawner.take_options(spawner, options)

    assert (spawner.session.n_gpus, spawner.session.walltime_s) == (n_gpus, 8 * 3600)
