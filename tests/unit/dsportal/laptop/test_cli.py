"""How the command ends, and what is made from its parser."""

import argparse

import pytest

from dsportal import __version__
from dsportal.laptop.cli import build_parser, main
from portal.cli import build_user_parser
from tests.unit.dsportal.laptop.conftest import TOKEN, Hub, give_token


@pytest.mark.parametrize("argv", [(), ("sart",), ("start", "--gpu=1", "more"), ("job", "old", "x")])
def test_wrong_usage_exits_with_2(argv: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)

    assert ended.value.code == 2


def test_its_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])

    assert capsys.readouterr().out == f"dsportal {__version__}\n"


async def test_a_portal_that_cannot_be_reached_exits_with_3(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give_token(monkeypatch, TOKEN)

    assert await hub.run("login", "http://127.0.0.1:9") == 3

    assert "does not answer" in capsys.readouterr().err


def test_every_verb_but_those_for_a_shell_answers_in_json() -> None:
    verbs = verbs_of(build_parser())
    without = {verb for verb, parser in verbs.items() if "--json" not in parser.format_help()}

    assert {"start", "sweep show"} <= verbs.keys() - without
    assert without == {"ssh", "cp", "completion", "proxy", "mcp"}


def test_the_verbs_of_sessions_are_those_of_laptops_in_the_same_words() -> None:
    here, there = verbs_of(build_parser()), verbs_of(build_user_parser())
    shared = here.keys() & there.keys()

    assert {"list", "why", "open", "gpu", "jobs", "logs", "sweep new"} <= shared
    # These are about the session that they are typed in.
    for verb in shared - {"extend", "stop"}:
        kept = {a.dest: a.help for a in there[verb]._actions}
        same = {a.dest: a.help for a in here[verb]._actions if a.dest in kept}
        assert {dest: kept[dest] for dest in same} == same, verb


def verbs_of(
    parser: argparse.ArgumentParser, before: str = ""
) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers that have no commands below them."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, child in action.choices.items():
                found |= verbs_of(child, f"{before}{word} ")
    return found or {before.strip(): parser}
