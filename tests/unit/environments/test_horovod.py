"""Which wheel of Horovod serves which build."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from deploy.environments.builder import horovod
from deploy.environments.builder.command import parse_arguments
from deploy.environments.builder.flavour import Flavour
from deploy.environments.builder.horovod import VERSION, find_wheel, local_version, recipe
from deploy.environments.builder.plan import Plan


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    plan = Plan(prefix=tmp_path, source_dir=tmp_path)
    plan.locks_dir.mkdir(parents=True)
    plan.pins("tensorflow").write_text("tensorflow-cpu==2.21.0\n")
    with_cuda = replace(plan, flavour=Flavour.GPU)
    with_cuda.pins("tensorflow").write_text("tensorflow==2.21.0\n")
    (plan.recipes_dir / "horovod.txt").write_text("horovod==0.28.1\n")
    return plan


def put_wheel(plan: Plan) -> Path:
    name = f"horovod-{VERSION}+{local_version(plan)}-cp311-cp311-linux_x86_64.whl"
    wheel = plan.wheelhouse_dir / name
    plan.wheelhouse_dir.mkdir(exist_ok=True)
    wheel.touch()
    wheel.with_suffix(".recipe").write_text(recipe(plan))
    return wheel


def test_mpi_is_compiled_only_where_it_was_asked_for() -> None:
    assert not parse_arguments(["horovod"])[1].with_mpi
    assert parse_arguments(["--with-mpi", "horovod"])[1].with_mpi


def test_wheels_for_each_tensorflow_with_mpi_and_without_stand_side_by_side(plan: Plan) -> None:
    plans = [plan, replace(plan, with_mpi=True), replace(plan, flavour=Flavour.GPU)]
    wheels = [put_wheel(each) for each in plans]

    assert [find_wheel(each) for each in plans] == wheels
    assert [local_version(each) for each in plans] == ["tf2.21.0", "tf2.21.0.mpi", "tf2.21.0.gpu"]


def test_a_wheel_that_was_made_in_another_way_is_not_taken(plan: Plan) -> None:
    with_mpi = replace(plan, with_mpi=True)
    put_wheel(with_mpi).with_suffix(".recipe").write_text(recipe(plan))

    assert find_wheel(with_mpi) is None


def test_what_a_newer_compiler_asks_for_makes_no_wheel_anew(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = put_wheel(plan)
    monkeypatch.setitem(horovod.COMPILER_PATCHES, "a.h", ("const int x;", "int x;"))

    assert find_wheel(plan) == wheel
