import time
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsportal.diagnosis import (
    Diagnosis,
    Situation,
    explain_end,
    explain_rejection,
    explain_waiting,
    log_tail,
)
from dsportal.diagnosis.log_tail import REMOVED
from dsportal.diagnosis.messages import JOB, RUN, Subject
from dsportal.diagnosis.pending_reasons import WAITING_REASONS
from dsportal.diagnosis.rejected_texts import REJECTIONS
from dsportal.slurm.states import JobState, Phase

LIMITS = (
    *("QOSMaxGRESPerUser", "QOSGrpGRES", "AssocMaxWallDurationPerJobLimit", "QOSMinGRES"),
    *("AssocGrpGRESMinutes", "QOSGrpGRESRunMinutes", "QOSMaxNodePerJobLimit"),
)


@pytest.mark.parametrize("state", list(JobState), ids=lambda state: state.name)
def test_every_state_has_words_and_a_next_step(state: JobState) -> None:
    diagnosis = explain_end(state, exit_code=None, signal=None, node="")
    assert diagnosis.sentence.endswith(".")
    assert diagnosis.next_step.endswith(".")
    assert "{" not in str(diagnosis)
    if state.phase is Phase.OVER:
        assert state.name not in diagnosis.sentence


@pytest.mark.parametrize("subject", [RUN, JOB], ids=lambda subject: subject.noun)
@pytest.mark.parametrize(
    "explained",
    [
        *(partial(explain_waiting, reason) for reason in (*WAITING_REASONS, *LIMITS, "Nameless")),
        *(partial(explain_end, state, node="node01") for state in JobState),
        *(partial(explain_end, JobState.FAILED, exit_code=code) for code in (1, 126, 127, 137)),
        *(partial(explain_rejection, texts[0]) for texts in REJECTIONS),
        *(partial(explain_rejection, f"sbatch: error: {word}") for word in (*LIMITS, "Nameless")),
    ],
    ids=lambda call: f"{call.func.__name__}-{getattr(call.args[0], 'name', call.args[0])}"[:60],
)
def test_a_run_or_a_job_is_never_called_a_session(
    subject: Subject, explained: partial[Diagnosis]
) -> None:
    text = str(explained(situation=Situation(subject=subject)))

    assert "session" not in text.replace("your sessions or jobs", "").replace("session time", "")
    assert "{" not in text


@pytest.mark.parametrize(
    ("state", "facts", "sentence", "next_step"),
    [
        pytest.param(
            JobState.NODE_FAIL, {"node": "node01"}, "The node node01 failed", "administrators",
            id="node-fail",
        ),
        pytest.param(
            JobState.OUT_OF_MEMORY, {"situation": Situation(memory_mib=49152)},
            "more memory than it had, which is 48 GB", "more GPUs", id="out-of-memory",
        ),
        pytest.param(
            JobState.TIMEOUT, {"situation": Situation(walltime_s=28800)},
            "its time limit of 8 hours", "new session", id="timeout",
        ),
        pytest.param(JobState.PREEMPTED, {}, "higher priority", "new session", id="preempted"),
        pytest.param(JobState.BOOT_FAIL, {"node": "node02"}, "node node02 could not be powered up",
                     "administrators", id="boot-fail"),
        pytest.param(JobState.DEADLINE, {}, "deadline", "without a deadline", id="deadline"),
        pytest.param(
            JobState.FAILED, {"exit_code": 1, "node": "node01"},
            "ended with an error on node01 (exit code 1)", "log", id="exit-code",
        ),
        pytest.param(
            JobState.FAILED, {"exit_code": 127, "node": "node01"}, "was not found on node01",
            "environment is missing on that node", id="program-not-found",
        ),
        pytest.param(
            JobState.FAILED, {"exit_code": 126}, "cannot be executed", "not readable",
            id="program-not-executable",
        ),
        pytest.param(
            JobState.FAILED, {"exit_code": 137}, "was killed", "more GPUs", id="killed",
        ),
        pytest.param(JobState.FAILED, {"exit_code": 0, "signal": 11}, "SIGSEGV", "log", id="crash"),
        pytest.param(
            JobState.FAILED, {"exit_code": 0, "signal": 53}, "could not open the session's log",
            "home folder", id="no-home",
        ),
        pytest.param(
            JobState.FAILED, {"reason": "RaisedSignal:53(Real-time_signal_19)"},
            "could not open the session's log", "home folder", id="no-home-by-reason",
        ),
        pytest.param(
            JobState.FAILED, {"exit_code": 255}, "exit code 255", "log", id="255-is-no-signal"
        ),
        pytest.param(JobState.FAILED, {"exit_code": 128 + 50}, "exit code 178", "log",
                     id="178-is-no-signal"),
        pytest.param(
            JobState.FAILED, {"reason": "JobLaunchFailure", "node": "node01"},
            "could not be started on its node node01", "again", id="launch-failure",
        ),
        pytest.param(
            JobState.TIMEOUT,
            {"reason": "Job is at or exceeds QOS q's max TRES(gres/gpu) minutes of 6 with 7"},
            "time budget", "administrators", id="budget-spent",
        ),
        pytest.param(
            JobState.TIMEOUT,
            {"reason": "Reservation lab, which this job was running under, has ended"},
            "reservation", "without a reservation", id="reservation-ended",
        ),
        pytest.param(
            JobState.FAILED, {"exit_code": 1, "reason": "QOSMaxGRESPerUser"},
            "exit code 1", "log", id="a-reason-of-the-time-in-the-queue-explains-no-end",
        ),
        pytest.param(JobState.UNKNOWN, {}, "no longer knows", "new session", id="forgotten"),
    ],
)  # fmt: skip
def test_each_end_says_what_happened_and_what_to_do(
    state: JobState, facts: dict[str, object], sentence: str, next_step: str
) -> None:
    diagnosis = explain_end(state, **facts)  # type: ignore[arg-type]
    assert sentence in diagnosis.sentence
    assert next_step in diagnosis.next_step


@pytest.mark.parametrize(
    ("uid", "who"),
    [
        (20001, "under your own name"),
        (0, "An administrator"),
        (998, "The portal"),
        (1000, "Somebody else (uid 1000)"),
        (None, "was cancelled"),
    ],
)
def test_a_cancelled_session_says_by_whom(uid: int | None, who: str) -> None:
    diagnosis = explain_end(
        JobState.CANCELLED,
        cancelled_by_uid=uid,
        situation=Situation(user_uid=20001, hub_uid=998),
    )
    assert who in diagnosis.sentence


def test_nobody_else_is_named_where_the_users_own_uid_is_not_known() -> None:
    diagnosis = explain_end(JobState.CANCELLED, cancelled_by_uid=20001)
    assert diagnosis.sentence == "The user with uid 20001 cancelled the session."


SUBMIT_FAILED = "sbatch: error: Batch job submission failed: "
POLICY = (
    SUBMIT_FAILED + "Job violates accounting/QOS policy (job submit limit, user's size and/or "
    "time limits)\n"
)


@pytest.mark.parametrize(
    ("stderr", "sentence", "next_step"),
    [
        (
            SUBMIT_FAILED + "Invalid account or account/partition combination specified\n",
            "no account",
            "administrators",
        ),
        (
            SUBMIT_FAILED + "Requested node configuration is not available\n",
            "No node of the partition jupyter",
            "fewer GPUs",
        ),
        (POLICY, "A limit of your account", "fewer GPUs"),
        ("sbatch: error: QOSMaxGRESPerUser\n" + POLICY, "limit on GPUs", "then start again"),
        (
            "sbatch: error: AssocMaxWallDurationPerJobLimit\n" + POLICY,
            "more time than one session may have",
            "Start again with fewer hours",
        ),
        ("sbatch: error: QOSMaxSubmitJobPerUserLimit\n" + POLICY, "waiting jobs", "Stop another"),
        (
            "sbatch: error: invalid partition specified: nope\n"
            + SUBMIT_FAILED
            + "Invalid partition name specified\n",
            "partition jupyter does not exist",
            "another partition",
        ),
        (
            "sbatch: error: CPU count per node can not be satisfied\n"
            + SUBMIT_FAILED
            + "Requested node configuration is not available\n",
            "as many CPU cores",
            "fewer GPUs",
        ),
        (
            "sbatch: error: Memory specification can not be satisfied\n"
            + SUBMIT_FAILED
            + "Requested node configuration is not available\n",
            "as much memory",
            "fewer GPUs",
        ),
    ],
)
def test_each_refusal_of_sbatch_is_put_into_words(
    stderr: str, sentence: str, next_step: str
) -> None:
    diagnosis = explain_rejection(stderr, Situation(partition="jupyter"))
    assert sentence in diagnosis.sentence
    assert next_step in diagnosis.next_step


def test_a_refusal_names_the_gpus_asked_for_and_the_limit() -> None:
    diagnosis = explain_rejection(
        "sbatch: error: QOSMaxGRESPerUser\n" + POLICY, Situation(n_gpus=6, n_gpus_limit=4)
    )
    assert str(diagnosis) == (
        "You asked for 6 GPUs, but the limit is 4 GPUs at a time. Start again with 4 GPUs or fewer."
    )


def test_the_words_of_a_sites_own_submit_plugin_are_shown() -> None:
    diagnosis = explain_rejection(
        "sbatch: error: lua: GPU courses end on Friday.\n" + SUBMIT_FAILED + "Unspecified error\n"
    )
    assert '"GPU courses end on Friday.' in diagnosis.sentence
    assert "Unspecified error" not in diagnosis.sentence


def test_a_refusal_without_a_word_is_still_a_sentence() -> None:
    assert "without giving a reason" in explain_rejection("").sentence


@given(st.text(max_size=2000))
def test_any_refusal_gives_one_line_of_bounded_length(stderr: str) -> None:
    text = str(explain_rejection(stderr))
    assert text.isprintable()
    assert len(text) < 700


TOKEN = "8f14e45fceea467abb2ad4c5a3ac5f1e"  # made up


@pytest.mark.parametrize(
    "line",
    [
        f"JUPYTERHUB_API_TOKEN={TOKEN}",
        f"export JUPYTERHUB_API_TOKEN='{TOKEN}'",
        f'{{"api_token": "{TOKEN}"}}',
        f"GET /user/ada/lab?token={TOKEN}&x=1 HTTP/1.1",
        f"Authorization: token {TOKEN}",
        f"authorization: Bearer {TOKEN}",
        f"'Authorization': 'token {TOKEN}'",
        f"Cookie: jupyterhub-session-id={TOKEN}; _xsrf={TOKEN}",
        f"CONFIGPROXY_AUTH_TOKEN = {TOKEN}",
        f"https://ada:{TOKEN}@example.org/data.git",
        f"the token is {TOKEN}.",
        f'DB_PASSWORD="correct {TOKEN[:12]} horse {TOKEN}"',
        f"my_secret: '{TOKEN}",
        f"psql --host db --password {TOKEN[:15]} --quiet",
        f"mysql --db-password '{TOKEN[:15]} horse'",
        f"huggingface-cli login --token\t{TOKEN[:15]}",
        *(
            f"login with {prefix}{TOKEN[:30]}x"
            for prefix in ("sk-", "sk-proj-", "ghp_", "github_pat_", "glpat-", "hf_", "xoxb-")
        ),
        f"eyJ{TOKEN[:15]}.{TOKEN[:15]}.{TOKEN[:15]}",
    ],
)
def test_no_token_is_shown(line: str) -> None:
    shown = log_tail(f"before\n{line}\nafter")
    assert TOKEN[:12] not in shown
    assert REMOVED in shown
    assert shown.splitlines()[0] == "before"
    assert shown.splitlines()[2] == "after"


def test_a_token_of_another_form_is_hidden_where_it_is_known() -> None:
    secret = "Zm9yIHRoZSB0ZXN0IG9ubHk"
    assert log_tail(f"port with {secret} told", secrets=[secret]) == f"port with {REMOVED} told"


def test_a_token_split_by_a_terminal_colour_is_hidden() -> None:
    assert TOKEN not in log_tail(f"\x1b[31mtoken=\x1b[0m{TOKEN[:16]}\x1b[1m{TOKEN[16:]}\x1b[0m")


def test_the_last_thirty_lines_are_shown() -> None:
    text = "".join(f"line {i}\n" for i in range(100))
    assert log_tail(text).splitlines() == [f"line {i}" for i in range(70, 100)]
    assert log_tail(text, 2) == "line 98\nline 99"


def test_of_a_progress_bar_only_the_last_state_is_shown() -> None:
    assert log_tail("10 %\r20 %\r100 %\ndone\r\n") == "100 %\ndone"


def test_endless_lines_and_control_characters_do_not_reach_the_page() -> None:
    shown = log_tail("x" * 100_000 + "\n\x07\x00bell\n")
    assert len(shown) < 600
    assert shown.endswith("bell")


@pytest.mark.parametrize(
    "unit",
    ["x", "a-", "token", "token ", "a://b:", "'", "0", "a=", "\x1b]", " ", "--a ", "sk-", "eyJ."],
)
def test_a_log_that_repeats_one_thing_does_not_keep_the_hub_busy(unit: str) -> None:
    start_s = time.process_time()
    log_tail(unit * (65_536 // len(unit)))
    assert time.process_time() - start_s < 0.5


def test_ordinary_lines_are_left_alone() -> None:
    text = "ModuleNotFoundError: No module named 'tensorflow'\n  File \"a.py\", line 3"
    assert log_tail(text) == text


@given(st.text(), st.integers(min_value=1, max_value=40))
def test_any_log_gives_at_most_the_lines_asked_for(text: str, n_lines: int) -> None:
    shown = log_tail(text, n_lines)
    assert shown.count("\n") < n_lines
    assert all(c.isprintable() or c in "\n\t" for c in shown)


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_known_secret_is_never_shown_wherever_it_stands(before: str, after: str) -> None:
    secret = "s3cret-of-this-session"
    assert secret not in log_tail(before + secret + after, secrets=[secret])
