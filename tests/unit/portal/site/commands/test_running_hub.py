"""Drain, tokens and the log as JSON."""

import argparse
import contextlib
import io
import json
import logging
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from http.server import HTTPServer
from pathlib import Path
from unittest import mock

import pytest

from portal.cli import main
from portal.hub.admin.tokens import (
    OPERATOR,
    ensure_token,
)
from portal.hub.log.json_formatter import HubJsonFormatter
from portal.hub.settings.clusters import ClusterSettings
from portal.hub.settings.hub import HubSettings
from portal.hub.settings.loader import Settings
from portal.site.commands import running_hub
from portal.site.commands.backup import MOST_COPIES, back_up
from portal.site.commands.running_hub import ask_hub, status_text
from portal.site.commands.services import proxy_argv, run_proxy
from spawner.errors import SiteError
from tests.support.stand_in_server import Handler, serving


def test_a_line_of_json_holds_user_and_job() -> None:
    record = logging.makeLogRecord(
        {"name": "hub", "levelno": 20, "levelname": "INFO", "msg": 'Job %d\nof "%s"'}
        | {"args": (7, "ada"), "user": "ada", "job_id": 7}
    )

    line = HubJsonFormatter().format(record)

    assert "\n" not in line
    entry = json.loads(line)
    assert (entry["user"], entry["job_id"], entry["level"]) == ("ada", 7, "INFO")
    assert entry["message"] == 'Job 7\nof "ada"'


def test_the_proxy_goes_by_host_names_where_users_have_their_own(settings: Settings) -> None:
    url = "https://portal.example.com"
    hub = replace(settings.hub, public_url=url, subdomain_host=url)

    assert "--host-routing" in proxy_argv(replace(settings, hub=hub), Path("/opt/proxy"))


def test_the_proxy_is_told_by_the_settings(settings: Settings) -> None:
    proxy = proxy_argv(settings, Path("/opt/portal"))

    assert proxy[0] == "/opt/portal/node/bin/node"
    assert "--ip=127.0.0.1" in proxy
    assert "--host-routing" not in proxy
    assert "--port=8000" in proxy
    assert "--api-ip=127.0.0.1" in proxy
    assert "--api-port=8001" in proxy
    assert "--default-target=http://127.0.0.1:8081" in proxy
    assert {"--sessions-ip=10.77.0.1", "--sessions-port=8081"} <= set(proxy)


def test_below_a_path_the_proxy_finds_the_hub_there(settings: Settings) -> None:
    below = replace(settings, hub=replace(settings.hub, base_url="/jupyter/"))
    proxy = proxy_argv(below, Path("/opt/portal"))

    assert "--hub-prefix=/jupyter/hub/" in proxy
    assert "--error-target=http://127.0.0.1:8081/jupyter/hub/error" in proxy


def test_a_proxy_without_a_place_for_its_certificates_says_where(settings: Settings) -> None:
    arguments = argparse.Namespace(settings=Path("/nowhere/portal.toml"))
    hub = replace(settings.hub, state_dir=Path("/nowhere"))

    with (
        mock.patch(
            "portal.site.commands.services.load_settings", return_value=replace(settings, hub=hub)
        ),
        pytest.raises(SiteError, match="/nowhere/certificates cannot be read or made"),
    ):
        run_proxy(arguments)


def hub_of(state_dir: Path) -> HubSettings:
    return HubSettings(address="10.77.0.1", state_dir=state_dir)


def change(path: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(sql)


def test_fourteen_copies_are_kept(tmp_path: Path) -> None:
    hub = hub_of(tmp_path)
    change(hub.sqlite_path, "CREATE TABLE users (name)")
    day = datetime(2026, 1, 1)

    copies = [back_up(hub, day + timedelta(days=n)) for n in range(MOST_COPIES + 2)]

    assert sorted((tmp_path / "backups").iterdir()) == copies[2:]
    assert copies[-1].stat().st_mode & 0o077 == 0


def test_a_second_copy_in_the_same_second_leaves_the_first_as_it_is(tmp_path: Path) -> None:
    hub = hub_of(tmp_path)
    change(hub.sqlite_path, "CREATE TABLE users (name)")
    first = back_up(hub, datetime(2026, 1, 1, 12, 0, 0, 1))
    kept = first.read_bytes()
    change(hub.sqlite_path, "DROP TABLE users")

    second = back_up(hub, datetime(2026, 1, 1, 12, 0, 0, 2))

    assert sorted((tmp_path / "backups").iterdir()) == [first, second]
    assert first.read_bytes() == kept


def test_a_backup_without_a_database_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match="could not be copied"):
        back_up(hub_of(tmp_path), datetime(2026, 1, 1))
    assert list((tmp_path / "backups").iterdir()) == []


def test_a_hub_that_does_not_run_or_not_yet_is_told_with_its_address(
    tmp_path: Path, settings: Settings
) -> None:
    hub = replace(settings.hub, state_dir=tmp_path, address="127.0.0.1", api_port=1)
    ensure_token(tmp_path, OPERATOR)

    said = r"does not answer at http://127\.0\.0\.2:1/hub/api.* wait some seconds"
    with pytest.raises(SiteError, match=said):
        ask_hub(replace(settings, hub=hub), "GET", "status")


@pytest.fixture
def hub_of_three(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[dict[str, str]]]:
    """Yield what a hub with four sessions on two clusters is asked to stop or drain."""
    asked: list[dict[str, str]] = []
    sessions = [
        {"user": user, "cluster": cluster, "partition": partition, "job_id": 7, "stopped": True}
        | {"kernel_gpus": len(kernels), "kernel_partitions": kernels}
        for user, cluster, partition, kernels in (
            ("ada", "", "v100", []),
            ("grace", "", "v100", ["h100"]),
            ("ada", "", "a100", []),
            ("linus", "volta", "a100", ["h100"]),
        )
    ]

    class Hub(Handler):
        def do_GET(self) -> None:
            self.answer(200, {"slurm": "answers", "sessions": sessions})

        def do_POST(self) -> None:
            asked.append(self.read_json())
            self.answer(200, {"sessions": sessions, "drain": "Disks."})

        def do_PUT(self) -> None:
            self.do_POST()

    server = HTTPServer(("127.0.0.1", 0), Hub)
    hub = replace(
        settings.hub,
        state_dir=tmp_path,
        address="127.0.0.1",
        internal_tls=False,
        api_port=server.server_port,
    )
    ensure_token(tmp_path, OPERATOR)
    partitions = {
        name: next(iter(settings.partitions.values())) for name in ("v100", "a100", "h100")
    }
    own = ClusterSettings(title="Volta", slurm_conf=Path("/etc/slurm-volta/slurm.conf"))
    clusters = {"volta": (own, replace(settings, partitions=partitions))}
    changed = replace(settings, hub=hub, partitions=partitions, clusters=clusters)
    monkeypatch.setattr(running_hub, "load_settings", lambda _: changed)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with serving(server):
        yield asked


@pytest.mark.parametrize(
    ("options", "partition", "user", "all_"),
    [
        (["--partition", "v100"], "v100", "", ""),
        (["--user", "ada"], "", "ada", ""),
        (["--user", "ada", "--partition", "a100"], "a100", "ada", ""),
        (["--partition", "volta:a100"], "volta:a100", "", ""),
        (["--all"], "", "", "yes"),
    ],
)
def test_the_hub_is_asked_to_stop_the_named_sessions_and_no_others(
    hub_of_three: list[dict[str, str]], options: list[str], partition: str, user: str, all_: str
) -> None:
    assert main(["sessions", "stop", "--yes", *options]) == 0

    assert hub_of_three == [{"partition": partition, "user": user, "all": all_, "message": ""}]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Say which sessions"),
        (["--all", "--user", "ada"], "either --all, or"),
        (["--all", "--partition", "v100"], "either --all, or"),
        (["--partition", "nowhere"], "The partitions are: v100, a100, h100, volta:v100, volta:"),
        (["--user", "nosuch"], "nosuch has no session. See dsportal status."),
        (["--user", "grace", "--partition", "a100"], "grace has no session in a100."),
        (["--user", "linus", "--partition", "a100"], "linus has no session in a100."),
    ],
)
def test_sessions_that_cannot_be_meant_are_an_error(
    hub_of_three: list[dict[str, str]],
    options: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["sessions", "stop", "--yes", *options]) == 1

    assert said in capsys.readouterr().err
    assert hub_of_three == []


@pytest.mark.parametrize("words", [["sessions", "stop", "--all"], ["drain"]])
def test_nothing_changes_before_somebody_agrees(
    hub_of_three: list[dict[str, str]], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 1
    assert "Use --yes to confirm." in capsys.readouterr().err
    assert main([*words, "--yes", "--dry-run"]) == 0
    assert "Nothing was changed." in capsys.readouterr().out
    assert hub_of_three == []

    assert main([*words, "--yes"]) == 0
    assert len(hub_of_three) == 1


def test_an_empty_partition_is_said_to_be_empty(
    hub_of_three: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions", "stop", "--yes", "--partition", "h100"]) == 0

    said = capsys.readouterr().out
    assert "There is no session in h100" in said
    assert "Kernels of sessions elsewhere hold 1 GPU in h100 and keep them: grace." in said
    assert hub_of_three == []


def test_status_lists_sessions_by_state() -> None:
    session = {"user": "ada", "state": "running", "job_id": 7, "partition": "v100", "gpus": 2}
    session |= {"kernel_gpus": 4, "kernel_partitions": ["v100"], "cluster": "volta"}
    text = status_text(
        {"portal": "1", "jupyterhub": "6", "slurm": "answers", "drain": "Disks."}
        | {"sessions": [session | {"node": "node01", "reason": ""}]}
        | {"clusters": {"volta": "Slurm is not responding."}}
    )

    assert "sessions    1 running" in text
    assert "refused: Disks." in text
    assert "2 GPUs and 4 of kernels  node01" in text
    assert "job 7        volta:v100" in text
    assert "volta     Slurm is not responding." in text


def test_status_says_why_slurm_was_not_asked() -> None:
    text = status_text(
        {"portal": "1", "jupyterhub": "6", "slurm": "not asked", "drain": ""}
        | {"clusters": {}, "sessions": []}
    )

    assert "not asked: nobody has logged in yet" in text
