"""The one program that sudo allows, without starting anything; tests/programs starts it."""

import io
import json
import os
import pwd
import re
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spawner.programs import launcher
from spawner.programs.launcher import answer_request, main

JOB_NAME = "dsportal-0123456789abcdef"
SUBMIT = {"verb": "submit", "arguments": ["--time=60"], "script": "echo ü", "environment": {}}


class Programs:
    """Stands for subprocess.run: what was started, and what it says."""

    def __init__(self) -> None:
        self.started: list[tuple[list[str], dict[str, Any]]] = []
        self.answers: dict[str, tuple[int, str, str]] = {}
        self.is_hanging = False

    def run(self, argv: list[str], **options: Any) -> Any:
        self.started.append((argv, options))
        if self.is_hanging:
            raise subprocess.TimeoutExpired(argv, options["timeout"])
        status, out, err = self.answers.get(Path(argv[0]).name, (0, "42\n", ""))
        # squeue prints the mark that it was given with its format.
        for mark in (w[len("--format=") :].split("|")[0] for w in argv if "--format=" in w):
            out = out.replace("MARK", mark)
        return SimpleNamespace(returncode=status, stdout=out.encode(), stderr=err.encode())

    @property
    def names(self) -> list[str]:
        return [Path(argv[0]).name for argv, _ in self.started]


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Programs:
    programs = Programs()
    monkeypatch.setattr(launcher.subprocess, "run", programs.run)
    monkeypatch.delenv("SLURM_CONF", raising=False)
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sbatch", "squeue"):
        folder.joinpath(name).touch(mode=0o755)
    monkeypatch.setattr(launcher, "PATH", str(folder))
    return programs


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home 100%"
    home.mkdir()
    return home


@pytest.fixture
def account(home: Path) -> pwd.struct_passwd:
    return pwd.struct_passwd(("ada", "x", 1234, 1234, "", str(home), "/bin/zsh"))


def logs_of(home: Path) -> Path:
    return home / ".local/state/data-scientist-portal/logs"


def test_a_job_is_submitted_with_fixed_options_before_those_of_the_hub(
    programs: Programs, account: pwd.struct_passwd, home: Path, tmp_path: Path
) -> None:
    answer = answer_request(SUBMIT | {"environment": {"A": "1", "HOME": "/x"}}, account)

    assert answer == {
        "ok": True,
        "exit_code": 0,
        "stdout": "42\n",
        "stderr": "",
        "job_id": 42,
        "checks": {},
    }
    ((argv, options),) = programs.started
    assert argv == [
        f"{tmp_path}/bin/sbatch",
        "--parsable",
        "--export=ALL",
        "--propagate=NONE",
        f"--chdir={home}",
        f"--output={tmp_path}/home 100%%/.local/state/data-scientist-portal/logs/session-%j.log",
        "--time=60",
    ]
    assert options == {
        "env": {
            "HOME": "/x",
            "USER": "ada",
            "LOGNAME": "ada",
            "SHELL": "/bin/zsh",
            "PATH": f"{tmp_path}/bin",
            "LANG": "C.UTF-8",
            "A": "1",
        },
        "input": "echo ü".encode(),
        "cwd": "/",
        "capture_output": True,
        "timeout": 15,
        "check": False,
    }


def test_of_the_programs_own_environment_only_the_place_of_slurms_configuration_stays(
    programs: Programs, account: pwd.struct_passwd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", "/etc/other/slurm.conf")
    monkeypatch.setenv("BASH_ENV", "/x")

    answer_request(SUBMIT, pwd.struct_passwd((*account[:6], "")))

    environment = programs.started[0][1]["env"]
    assert environment["SLURM_CONF"] == "/etc/other/slurm.conf"
    assert environment["SHELL"] == "/bin/sh"
    assert "BASH_ENV" not in environment


def test_the_folders_of_logs_are_the_users_alone(
    programs: Programs, account: pwd.struct_passwd, home: Path
) -> None:
    state = logs_of(home).parent
    state.mkdir(parents=True)
    state.chmod(0o777)
    old_mask = os.umask(0)
    try:
        answer_request(SUBMIT, account)
        answer_request(SUBMIT, account)
    finally:
        os.umask(old_mask)

    assert [stat.S_IMODE(path.stat().st_mode) for path in (state, logs_of(home))] == [0o700] * 2


def test_a_session_whose_script_keeps_the_log_gets_none_of_slurm(
    programs: Programs, account: pwd.struct_passwd, home: Path
) -> None:
    answer_request(SUBMIT | {"keeps_log": False}, account)

    assert "--output=/dev/null" in programs.started[0][0]
    assert list(home.iterdir()) == []


def test_of_old_logs_the_newest_are_kept_and_nothing_else_is_touched(
    programs: Programs, account: pwd.struct_passwd, home: Path
) -> None:
    logs = logs_of(home)
    logs.mkdir(parents=True)
    for number in range(25):
        path = logs / f"session-{number}.log"
        path.touch()
        # The numbers of jobs begin again some day.
        os.utime(path, (1000 - number, 1000 - number))
    logs.joinpath("notes.log").touch()
    os.utime(logs / "notes.log", (1, 1))

    answer_request(SUBMIT, account)

    left = {path.name for path in logs.iterdir()}
    assert left == {"notes.log", *(f"session-{number}.log" for number in range(19))}


def test_a_log_that_another_session_deletes_meanwhile_is_no_fault(
    programs: Programs,
    account: pwd.struct_passwd,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_gone(path: Path) -> None:
        raise FileNotFoundError(path)

    logs_of(home).mkdir(parents=True)
    logs_of(home).joinpath("session-1.log").touch()
    monkeypatch.setattr(Path, "lstat", is_gone)

    assert answer_request(SUBMIT, account)["job_id"] == 42


@pytest.mark.parametrize(
    ("printed", "job_id"), [("7;cluster\n", 7), ("note\n8\n", 8), ("9\nnote\n", 9)]
)
def test_the_job_id_is_found_in_what_sbatch_prints(
    programs: Programs, account: pwd.struct_passwd, printed: str, job_id: int
) -> None:
    programs.answers["sbatch"] = (0, printed, "")

    assert answer_request(SUBMIT, account)["job_id"] == job_id


def test_an_answer_of_sbatch_without_a_job_id_is_shown(
    programs: Programs, account: pwd.struct_passwd
) -> None:
    programs.answers["sbatch"] = (0, "Submitted job x7\n", "")

    with pytest.raises(ValueError, match=r"^sbatch printed no job id but 'Submitted job x7\\n'$"):
        answer_request(SUBMIT, account)


def test_a_refusal_of_sbatch_is_passed_on(programs: Programs, account: pwd.struct_passwd) -> None:
    programs.answers["sbatch"] = (1, "", "sbatch: error: Invalid account\n")

    assert answer_request(SUBMIT, account) == {
        "ok": False,
        "exit_code": 1,
        "stdout": "",
        "stderr": "sbatch: error: Invalid account\n",
    }


def test_a_slurm_that_hangs_is_no_answer(programs: Programs, account: pwd.struct_passwd) -> None:
    programs.is_hanging = True

    assert answer_request(SUBMIT, account) == {
        "ok": False,
        "exit_code": None,
        "stderr": "sbatch gave no answer in 15 s",
    }


@pytest.mark.parametrize(("fault", "job_id"), [("It is full.", 0), ("", 42)])
def test_a_fault_that_the_site_refuses_sessions_for_prevents_the_job(
    programs: Programs,
    account: pwd.struct_passwd,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    fault: str,
    job_id: int,
) -> None:
    program = tmp_path / "dsportal-storage-checks"
    program.write_text(
        "assert __name__ == 'storage_checks'\n"
        f"def answer(checks): return {{name: {{'fault': {fault!r}}} for name in checks}}\n"
    )
    monkeypatch.setattr(launcher, "__file__", str(tmp_path / "dsportal-launcher"))

    answer = answer_request(SUBMIT | {"checks": {"home": {}}, "refuse": ["home"]}, account)

    assert answer["ok"] is True
    assert answer["job_id"] == job_id
    assert answer["checks"] == {"home": {"fault": fault}}
    assert programs.names == (["sbatch"] if job_id else [])


def test_a_fault_that_the_site_only_warns_of_prevents_no_job(
    programs: Programs,
    account: pwd.struct_passwd,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    tmp_path.joinpath("dsportal-storage-checks").write_text(
        "def answer(checks): return {name: {'fault': 'It is full.'} for name in checks}"
    )
    monkeypatch.setattr(launcher, "__file__", str(tmp_path / "dsportal-launcher"))

    assert answer_request(SUBMIT | {"checks": {"home": {}}}, account)["job_id"] == 42


def test_a_forecast_submits_nothing(
    programs: Programs, account: pwd.struct_passwd, tmp_path: Path
) -> None:
    asked = {"arguments": ["--time=60"], "script": "x", "environment": {"TZ": "Asia/Tokyo"}}

    assert answer_request({"verb": "forecast", **asked}, account)["ok"] is True

    ((argv, options),) = programs.started
    assert argv == [f"{tmp_path}/bin/sbatch", "--test-only", "--time=60"]
    assert options["input"] == b"x"
    assert options["env"]["TZ"] == "Asia/Tokyo"


def cancel(job_id: object = 42, job_name: object = JOB_NAME) -> dict[str, Any]:
    return {"verb": "cancel", "job_id": job_id, "job_name": job_name}


def test_the_users_job_of_this_name_is_cancelled(
    programs: Programs, account: pwd.struct_passwd
) -> None:
    programs.answers["squeue"] = (0, f"MARK|1234|{JOB_NAME}\n", "")
    programs.answers["scancel"] = (0, "", "")

    answer = answer_request(cancel(), account)

    assert answer == {"ok": True, "exit_code": 0, "stdout": "", "stderr": "", "found": True}
    (squeue, _), (scancel, _) = programs.started
    assert squeue[1:4] == ["--noheader", "--all", "--jobs=42"]
    assert squeue[4].endswith("|%U|%j")
    assert len(squeue[4]) == len("--format=") + 16 + len("|%U|%j")
    # There is none in this test's PATH.
    assert scancel == ["scancel", f"--name={JOB_NAME}", "42"]


@pytest.mark.parametrize("printed", ["3000000001", "-1294967295"])
def test_the_job_of_a_uid_that_squeue_prints_with_a_sign_is_cancelled(
    programs: Programs, account: pwd.struct_passwd, printed: str
) -> None:
    account = pwd.struct_passwd((*account[:2], 3_000_000_001, *account[3:]))
    programs.answers["squeue"] = (0, f"MARK|{printed}|{JOB_NAME}\n", "")
    programs.answers["scancel"] = (0, "", "")

    assert answer_request(cancel(), account)["found"] is True
    assert programs.names == ["squeue", "scancel"]


@pytest.mark.parametrize(
    "printed",
    ["", f"MARK|1235|{JOB_NAME}\n", "MARK|1234|other\n", f"MARK|1235|x\n1234|{JOB_NAME}\n"],
    ids=["no job", "somebody else's", "another name", "a line break in somebody else's name"],
)
def test_no_other_job_is_cancelled(
    programs: Programs, account: pwd.struct_passwd, printed: str
) -> None:
    programs.answers["squeue"] = (0, printed, "")

    assert answer_request(cancel(), account) == {"ok": True, "found": False}
    assert programs.names == ["squeue"]


def test_a_job_that_slurm_does_not_know_any_more_is_no_failure(
    programs: Programs, account: pwd.struct_passwd
) -> None:
    programs.answers["squeue"] = (1, "", "slurm_load_jobs error: Invalid job id specified\n")

    assert answer_request(cancel(), account) == {"ok": True, "found": False}


def test_a_slurm_that_cannot_be_asked_is_a_failure(
    programs: Programs, account: pwd.struct_passwd
) -> None:
    programs.answers["squeue"] = (1, f"MARK|1234|{JOB_NAME}\n", "Unable to contact")

    answer = answer_request(cancel(), account)

    assert (answer["ok"], answer["stderr"]) == (False, "Unable to contact")
    assert programs.names == ["squeue"]


def test_the_end_of_a_log_is_read(account: pwd.struct_passwd, home: Path) -> None:
    logs_of(home).mkdir(parents=True)
    (logs_of(home) / "session-42.log").write_bytes(b"a" * 70000 + b"\xffend")
    request = {"verb": "log_tail", "job_id": 42}

    answer = answer_request(request, account)

    assert answer["ok"] is True
    assert answer["text"] == "a" * 65532 + "\ufffdend"


def test_a_log_that_is_no_plain_file_is_not_read(account: pwd.struct_passwd, home: Path) -> None:
    logs_of(home).mkdir(parents=True)
    log = logs_of(home) / "session-42.log"
    os.mkfifo(log)
    request = {"verb": "log_tail", "job_id": 42}

    with pytest.raises(ValueError, match=f"^{re.escape(str(log))} is not a plain file$"):
        answer_request(request, account)

    log.unlink()
    log.symlink_to("/etc/passwd")
    with pytest.raises(OSError, match="symbolic links"):
        answer_request(request, account)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"verb": "shell"}, "unknown verb 'shell'"),
        ([], "unknown verb None"),
        ({"verb": "run"}, "unknown verb 'run'"),
        ({"verb": 7}, "unknown verb 7"),
        (SUBMIT | {"arguments": None}, "arguments must be a list of at most 64 texts"),
        (SUBMIT | {"arguments": ["--hold"] * 65}, "arguments must be a list of at most 64 texts"),
        (SUBMIT | {"arguments": ["-p"]}, "bad argument '-p'"),
        (SUBMIT | {"arguments": [7]}, "bad argument 7"),
        (SUBMIT | {"arguments": ["--wrap=id"]}, "sbatch option '--wrap=id' is not allowed"),
        (SUBMIT | {"arguments": ["--time"]}, "sbatch option '--time' is not allowed"),
        (SUBMIT | {"arguments": ["--mem=1²"]}, "sbatch option '--mem=1²' is not allowed"),
        (SUBMIT | {"script": None}, "script must be a text"),
        (SUBMIT | {"script": "a\0b"}, "script must be a text"),
        (SUBMIT | {"environment": []}, "environment must be an object"),
        (
            SUBMIT | {"environment": {"SLURM_CONF": "/x"}},
            "environment variable 'SLURM_CONF' is not allowed",
        ),
        *(
            (
                SUBMIT | {"environment": {name: ""}},
                f"environment variable {name!r} is not allowed",
            )
            for name in ("A B", "A=B", "", "1A", "A\n", "SBATCH_PARTITION")
        ),
        (SUBMIT | {"environment": {"A": 1}}, "environment variable A has a bad value"),
        (SUBMIT | {"environment": {"A": "\0"}}, "environment variable A has a bad value"),
        (cancel(job_id=0), "bad job_id 0"),
        (cancel(job_id=2**32), "bad job_id 4294967296"),
        (cancel(job_id=True), "bad job_id True"),
        (cancel(job_id="1; id"), "bad job_id '1; id'"),
        (cancel(job_name="a b"), "bad name 'a b'"),
        (cancel(job_name="$(id)"), "bad name '$(id)'"),
        ({"verb": "log_tail", "job_id": "../../x"}, "bad job_id '../../x'"),
        (
            {"verb": "forecast", "arguments": ["--wrap=id"], "script": ""},
            "sbatch option '--wrap=id' is not allowed",
        ),
        (cancel(job_name=None), "bad name None"),
        ({"verb": "log_tail", "job_id": "x" * 99}, f"bad job_id '{'x' * 59}"),
    ],
    ids=str,
)
def test_a_refusal_says_what_is_wrong(
    programs: Programs, account: pwd.struct_passwd, request_: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        answer_request(request_, account)

    assert programs.started == []


@pytest.mark.parametrize("n_options", [1, 64])
def test_the_longest_request_that_is_allowed_is_taken(
    programs: Programs, account: pwd.struct_passwd, n_options: int
) -> None:
    comment = "--comment=".ljust(1024, "x")
    request = SUBMIT | {"arguments": [comment] * n_options}

    assert answer_request(request, account)["job_id"] == 42
    request["arguments"] = [comment + "x"]
    with pytest.raises(ValueError, match="bad argument"):
        answer_request(request, account)


def answer_of_main(
    monkeypatch: pytest.MonkeyPatch, text: str, *arguments: str, uid: int = 1234
) -> dict[str, Any]:
    out = io.StringIO()
    monkeypatch.setattr(sys, "argv", ["dsportal-launcher", *arguments])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(launcher.os, "getuid", lambda: uid)
    old_mask = os.umask(0o077)
    try:
        main()
        assert os.umask(0o022) == 0o022, "the hub's mask is not that of a session"
    finally:
        os.umask(old_mask)
    (line,) = out.getvalue().splitlines()
    answer: dict[str, Any] = json.loads(line)
    return answer


def test_the_account_of_this_process_is_the_users(
    programs: Programs, account: pwd.struct_passwd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher.pwd, "getpwuid", lambda uid: {1234: account}[uid])

    answer = answer_of_main(monkeypatch, json.dumps(SUBMIT))

    assert answer["job_id"] == 42


@pytest.mark.parametrize(
    ("text", "arguments", "uid"),
    [("{}", ("--help",), 1234), ("{}", (), 0)],
    ids=["an argument", "root"],
)
def test_arguments_and_root_are_refused(
    monkeypatch: pytest.MonkeyPatch, text: str, arguments: tuple[str, ...], uid: int
) -> None:
    assert answer_of_main(monkeypatch, text, *arguments, uid=uid) == {
        "ok": False,
        "exit_code": 2,
        "stderr": "dsportal-launcher: this program takes no argument and does not work for root",
    }


def test_a_request_of_more_than_4_mib_is_refused(
    programs: Programs, account: pwd.struct_passwd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher.pwd, "getpwuid", lambda uid: {1234: account}[uid])
    request = {**SUBMIT, "script": "x" * 4 * 1024**2}

    answer = answer_of_main(monkeypatch, json.dumps(request))

    assert answer["ok"] is False
    assert "Unterminated string" in answer["stderr"]
    assert programs.started == []


def test_what_is_no_json_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = answer_of_main(monkeypatch, "{")

    assert answer["ok"] is False
    assert answer["stderr"].startswith("dsportal-launcher: Expecting")


def test_no_other_option_of_sbatch_is_let_through() -> None:
    """The wall between the hub and users' accounts: whoever moves it has to say so here, too."""
    with_value = [f"{name} {form}" for name, form in sorted(launcher._OPTIONS.items())]
    alone = sorted(launcher._FLAG.pattern.split("|"))
    golden = Path(__file__).parents[1] / "golden/launcher-options.txt"

    assert [*with_value, *alone] == golden.read_text().splitlines()


@pytest.mark.parametrize(
    "argument",
    [
        # Those of sbatch(1), Slurm 22.05 to 25.11, that name files or users, or start programs.
        *(
            f"--{name}=/tmp/x"
            for name in (
                *("batch", "bb", "bbf", "bcast", "chdir", "container", "error", "export"),
                *("export-file", "get-user-env", "gid", "input", "output", "prolog", "propagate"),
                *("spank-x", "uid", "wrap"),
            )
        ),
        *("--array=1-1000", "--dependency=afterok:1", "--test-only", "--nodes=2", "--ntasks=40"),
        *("--time=1;id", "--time=$(id)", "--job-name=", "--job-name=a b", "--job-name=-x"),
        *("--comment=a'b", "--comment=a\nb", "--gres=gpu:1\n", "--partition", "--hold=1"),
        *("-pjupyter", "jupyter", "--", "", None, ["--time=1"]),
    ],
)
def test_an_argument_that_is_not_on_the_list_is_refused(argument: object) -> None:
    with pytest.raises(ValueError, match=r"is not allowed|bad argument"):
        launcher.checked_arguments(["--time=08:00:00", argument])


def test_what_a_site_may_want_is_allowed() -> None:
    arguments = [
        *("--exclusive", "--exclusive=user", "--nice", "--nice=-10", "--signal=B:USR1@600"),
        *("--gres=shard:2", "--gpus-per-node=1g.5gb:1", "--constraint=(a&b)|c*2"),
        "--exclude=n[1-3,5]",
    ]

    assert launcher.checked_arguments(arguments) == arguments


@pytest.fixture
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root has written down one further cluster."""
    (tmp_path / "clusters.env").write_text("# Volta\nvolta=/etc/slurm-volta/slurm.conf\n")
    monkeypatch.setattr(launcher, "CLUSTERS", tmp_path / "clusters.env")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")


def test_programs_of_slurm_ask_the_cluster_that_is_named_by_the_path_of_root(
    programs: Programs, account: pwd.struct_passwd, clusters: None
) -> None:
    volta = {"cluster": "volta"}
    answer_request(SUBMIT | volta, account)
    answer_request({"verb": "cancel", "job_id": 42, "job_name": JOB_NAME, **volta}, account)

    asked = [options["env"]["SLURM_CONF"] for _, options in programs.started]
    assert asked == ["/etc/slurm-volta/slurm.conf"] * 2


@pytest.mark.parametrize(
    "cluster", ["kepler", "/tmp/slurm.conf", "../volta", "# Volta\nvolta", "", None, 7, ["volta"]]
)
def test_a_cluster_that_root_has_not_named_is_asked_nothing(
    programs: Programs, account: pwd.struct_passwd, clusters: None, cluster: object
) -> None:
    with pytest.raises(ValueError, match=r"bad name|has no line"):
        answer_request(SUBMIT | {"cluster": cluster}, account)

    assert programs.started == []


def test_two_jobs_with_one_id_on_two_clusters_have_two_logs(
    programs: Programs, account: pwd.struct_passwd, home: Path, clusters: None
) -> None:
    answer_request(SUBMIT, account)
    answer_request(SUBMIT | {"cluster": "volta"}, account)
    outputs = [word for argv, _ in programs.started for word in argv if "--output=" in word]
    assert len(set(outputs)) == 2

    for output, text in zip(outputs, ("first", "second"), strict=True):
        path = output.removeprefix("--output=").replace("%j", "42").replace("%%", "%")
        Path(path).write_text(text)
    order = {"verb": "log_tail", "job_id": 42}
    answers = [answer_request(order | one, account) for one in ({}, {"cluster": "volta"})]
    assert [answer["text"] for answer in answers] == ["first", "second"]
