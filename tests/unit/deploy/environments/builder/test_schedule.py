"""What is built, in which order, and what is said about it."""

from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder import schedule
from deploy.environments.builder.command import main, parse_arguments
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.schedule import Ended, Outcome, build_targets
from deploy.environments.builder.target import Target
from deploy.environments.builder.targets import ALL, BY_NAME, TARGETS, with_needs

Build = Callable[[Plan, IO[str]], None]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(prefix=tmp_path / "prefix", log_dir=tmp_path / "log", source_dir=tmp_path)


def target(
    name: str, *, build: Build | None = None, text: str = "1", **order: tuple[str, ...]
) -> Target:
    """A target that writes a file of its name."""

    def write(plan: Plan, log: IO[str]) -> None:
        print(f"building {name}", file=log)
        plan.prefix.mkdir(exist_ok=True)
        with (plan.prefix / name).open("a") as file:
            file.write("built\n")

    return Target(
        name=name,
        summary=f"making {name}",
        build=build or write,
        made_from=lambda plan: [text, plan.source_dir / "source"],
        results=lambda plan: [plan.prefix / name],
        **order,
    )


def failing(plan: Plan, log: IO[str]) -> None:
    print("ERROR: no space", file=log)
    raise DeployError("'pip install ...' ended with status 1.", "Free some space.")


def outcomes(ended: list[Ended]) -> dict[str, Outcome]:
    return {e.name: e.outcome for e in ended}


def test_a_second_build_changes_nothing(plan: Plan) -> None:
    targets = [target("a"), target("b", needs=("a",))]
    build_targets(targets, plan)

    again = build_targets(targets, plan)

    assert set(outcomes(again).values()) == {Outcome.UNCHANGED}
    assert (plan.prefix / "a").read_text() == "built\n"


def test_a_changed_source_is_built_again_and_with_it_what_needs_it(plan: Plan) -> None:
    unneeding = target("c")
    build_targets([target("a"), target("b", needs=("a",)), unneeding], plan)

    again = build_targets([target("a", text="2"), target("b", needs=("a",)), unneeding], plan)

    assert outcomes(again) == {"a": Outcome.BUILT, "b": Outcome.BUILT, "c": Outcome.UNCHANGED}


def test_a_changed_file_is_seen(plan: Plan) -> None:
    source = plan.source_dir / "source"
    source.write_text("one")
    build_targets([target("a")], plan)
    source.write_text("two")

    assert outcomes(build_targets([target("a")], plan)) == {"a": Outcome.BUILT}


def test_a_result_that_was_taken_away_is_built_again(plan: Plan) -> None:
    build_targets([target("a")], plan)
    (plan.prefix / "a").unlink()

    assert outcomes(build_targets([target("a")], plan)) == {"a": Outcome.BUILT}


def test_what_needs_a_failed_target_is_not_tried_and_the_rest_is_built(plan: Plan) -> None:
    targets = [target("a", build=failing), target("b", needs=("a",)), target("c", needs=("b",))]

    ended = build_targets([*targets, target("d", after=("a",))], plan)

    assert outcomes(ended) == {
        "a": Outcome.FAILED,
        "b": Outcome.NOT_TRIED,
        "c": Outcome.NOT_TRIED,
        "d": Outcome.BUILT,
    }


def test_what_comes_first_is_built_as_soon_as_it_can_be(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "MOST_AT_A_TIME", 1)
    targets = [target("a"), target("b", needs=("a",)), target("c"), target("d")]

    ended = build_targets(targets, plan)

    assert [one.name for one in ended] == ["a", "b", "c", "d"]


def test_a_failed_target_counts_as_not_built(plan: Plan) -> None:
    build_targets([target("a")], plan)
    build_targets([target("a", build=failing, text="2")], plan)

    assert outcomes(build_targets([target("a")], plan)) == {"a": Outcome.BUILT}


def test_a_failure_says_what_where_and_what_next(
    plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    build_targets([target("a", build=failing)], plan)

    said = capsys.readouterr().out
    assert "'pip install ...' ended with status 1." in said
    assert str(plan.log_path("a")) in said
    assert "ERROR: no space" in said
    assert "Free some space." in said
    assert "deploy/environments/build a" in said


def test_of_a_failed_npm_the_cause_is_shown_and_not_where_its_own_log_is(
    plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(plan: Plan, log: IO[str]) -> None:
        print("npm error code SELF_SIGNED_CERT_IN_CHAIN", file=log)
        print("npm error A complete log of this run can be found in: /root/.npm", file=log)
        raise DeployError("'npm ci ...' ended with status 1.", "")

    build_targets([target("a", build=fail)], plan)

    assert "last: npm error code SELF_SIGNED_CERT_IN_CHAIN" in capsys.readouterr().out


def test_a_build_without_its_result_has_failed_and_names_it(
    plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = target("a", build=lambda plan, log: None)

    assert outcomes(build_targets([empty], plan)) == {"a": Outcome.FAILED}
    assert f"there is no {plan.prefix / 'a'}" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written_is_named(
    plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    plan.log_dir.write_text("a file where a folder should be")

    assert outcomes(build_targets([target("a")], plan)) == {"a": Outcome.FAILED}
    assert str(plan.log_dir) in capsys.readouterr().out


def test_needs_are_built_before_what_needs_them() -> None:
    names = [t.name for t in with_needs(["datasets"])]

    assert set(names) == {"uv", "node", "server", "datasets"}
    for t in TARGETS:
        assert set(t.needs) | set(t.after) <= set(BY_NAME)


def test_all_leaves_out_what_only_tests_need_and_what_is_not_developed_any_more() -> None:
    for_tests = {"test", "moto", "apptainer"}
    on_request = {"mxnet", "horovod-pytorch", "netron", "code-server", "mlflow", "xprof"}
    assert for_tests | on_request == set(BY_NAME) - set(ALL)
    names, _ = parse_arguments(["--flavour", "cpu", "all"])
    assert names == list(ALL)


def test_folders_can_be_chosen(tmp_path: Path) -> None:
    _, plan = parse_arguments(["hub", "--prefix", str(tmp_path), "--datasets", f"{tmp_path}/data"])

    assert plan.environment("hub") == tmp_path / "environments" / "hub"
    assert plan.datasets_dir == tmp_path / "data"


def test_an_unknown_target_is_answered_with_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["hubb"])

    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "no target 'hubb'" in said
    assert "tensorflow" in said
