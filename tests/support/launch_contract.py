"""What must hold for dsportal wherever its ranks run.

A suite imports these tests and gives them a `session` fixture: an object with `working_dir`,
`gpu_words`, `node` (known once a case has run), `run_case(name) -> Outcome`, `lose_kernel()` and
`wait_until_no_rank_runs(timeout_s)`.
"""

import re

import pytest

# A file of the package in a traceback, wherever the package lies.
FRAME = re.compile(r"dsportal/(?:launch|notebook|task|worker)/\w+\.py")
CASES = (
    *("results", "one_rank", "show_all", "logs", "crash", "killed", "interrupt", "interrupt_deaf"),
    *("exit", "killed_while_saving"),
    *("long_lines", "unsendable_result", "keyboard"),
    *("progress", "own_job_progress", "progress_alone"),
    *("notebook", "notebook_failure", "notebook_stopped", "notebook_submitted"),
    *("sweep", "sweep_script", "sweep_stop_worst", "sweep_lost_kernel", "sweep_interrupt"),
    *("script", "odd_script", "magic", "own_job", "own_job_crash", "own_job_interrupt", "detached"),
)


def test_every_rank_runs_the_function_and_knows_its_place(session):
    ranks = session.run_case("results").value["all"]

    assert [rank["HOROVOD_RANK"] for rank in ranks] == ["0", "1"]
    assert [rank["HOROVOD_LOCAL_RANK"] for rank in ranks] == ["0", "1"]
    for rank in ranks:
        assert (rank["HOROVOD_SIZE"], rank["HOROVOD_LOCAL_SIZE"]) == ("2", "2")
        assert (rank["HOROVOD_CROSS_RANK"], rank["HOROVOD_CROSS_SIZE"]) == ("0", "1")
        assert rank["HOROVOD_GLOO_IFACE"] == "lo"
        assert (rank["words"], rank["named"]) == (["a", 2], {"depth": [1, 2]})


def test_the_result_of_rank_0_comes_back(session):
    assert session.run_case("results").value["first"]["HOROVOD_RANK"] == "0"


def test_ranks_run_in_the_folder_of_the_notebook(session):
    assert session.run_case("results").value["first"]["cwd"] == str(session.working_dir / "results")


def test_one_gpu_is_one_rank(session):
    ranks = session.run_case("one_rank").value["all"]

    assert [rank["HOROVOD_SIZE"] for rank in ranks] == ["1"]


def test_the_cell_shows_rank_0_only(session):
    cell = session.run_case("one_rank").cell + session.run_case("logs").cell

    assert "hello from 0\n" in cell
    assert "hello from 1" not in cell


def test_the_cell_says_how_many_ranks_where_and_on_what(session):
    first_line = session.run_case("logs").cell.splitlines()[0]

    assert first_line.startswith(f"2 ranks on {session.node}, each with {session.gpu_words} and ")
    assert "Logs: ~/portal-runs/" in first_line
    of_one = session.run_case("one_rank").cell
    assert of_one.startswith(f"1 rank on {session.node}, with {session.gpu_words} and ")


def test_all_ranks_can_be_shown_with_their_numbers(session):
    lines = session.run_case("show_all").cell.splitlines()

    assert "[rank 0] hello from 0" in lines
    assert "[rank 1] hello from 1" in lines


def test_the_log_of_a_rank_that_was_not_shown_is_kept(session):
    assert session.run_case("logs").value["log"] == "hello from 1\n"


def test_nobody_else_can_look_into_the_folder_of_a_run(session):
    modes = session.run_case("logs").value

    assert modes["folder_mode"] == modes["parent_mode"] == "0o700"
    assert modes["call_mode"] == "0o600"


def test_an_exception_on_a_rank_ends_all_and_is_shown(session):
    failure = session.run_case("crash").value

    assert (failure["rank"], failure["node"]) == (1, session.node)
    assert "ValueError: no such label: 11" in failure["text"]
    assert "in fail_on_rank_1" in failure["text"]
    assert f"rank 1 of 2 on {session.node}" in failure["text"]
    assert "rank-1.log" in failure["text"]
    assert failure["log"].count("ValueError: no such label: 11") == 1
    assert failure["seconds"] < 15


def test_the_cell_shows_the_traceback_of_the_rank_and_not_of_this_package(session):
    cell = session.run_case("crash").value["cell"]

    assert "no such label: 11" in cell
    assert not FRAME.search(cell)


def test_a_rank_that_is_killed_is_named_with_its_last_words(session):
    failure = session.run_case("killed").value

    assert failure["rank"] == 1
    assert "Killed" in failure["text"]
    assert "last words" in failure["text"]


def test_a_run_goes_on_from_the_last_whole_checkpoint_of_one_killed_while_saving(session):
    value = session.run_case("killed_while_saving").value

    assert value["rank"] == 0
    assert value["resumed"]["epoch"] == 2
    assert value["second"] in value["resumed"]["saved"]
    assert value["kept"] == "1\n"


def test_the_first_line_of_a_resumed_run_says_which_run_it_continues(session):
    outcome = session.run_case("killed_while_saving")
    lines = outcome.cell.splitlines()
    (at,) = (number for number, line in enumerate(lines) if line.startswith("Continues "))

    assert lines[at].startswith(f"Continues {outcome.value['first']} (failed, checkpoint of ")
    assert lines[at + 1].startswith("1 rank on ")


def test_a_rank_that_exits_is_named_and_not_the_one_that_lost_it(session):
    failure = session.run_case("exit").value

    assert failure["rank"] == 1
    assert "exit code 9" in failure["text"]
    # For the list of runs.
    assert failure["reason"].startswith("The process ended without a traceback: Exited with exit ")


def test_the_interrupt_button_ends_every_rank_within_5_s(session):
    outcome = session.run_case("interrupt")

    assert outcome.value["alive"] == []
    assert outcome.value["seconds"] < 5
    assert "Stopped: the run has ended." in outcome.cell


def test_ranks_that_ignore_a_request_to_end_are_killed_within_5_s(session):
    outcome = session.run_case("interrupt_deaf")

    assert outcome.value["alive"] == []
    assert outcome.value["seconds"] < 5


def test_long_and_unfinished_lines_and_odd_bytes_reach_the_cell(session):
    cell = session.run_case("long_lines").cell

    assert cell.count("x") >= 20_000
    assert "caf\N{REPLACEMENT CHARACTER}" in cell
    assert "no end" in cell


def test_a_result_that_cannot_travel_gets_a_sentence(session):
    text = session.run_case("unsendable_result").value["text"]

    assert "What rank 0 returned cannot be sent back" in text


def test_a_rank_that_asks_somebody_is_told_that_it_has_no_keyboard(session):
    text = session.run_case("keyboard").value["text"]

    assert "Ranks have no keyboard" in text
    assert "Traceback" not in text


def test_the_magic_runs_a_cell_on_every_rank_with_what_it_uses_of_the_notebook(session):
    outcome = session.run_case("magic")

    assert "rank 0 has scale 3\n" in outcome.cell
    assert "rank 1 has" not in outcome.cell
    assert outcome.value["result"] == 30


def test_an_error_in_the_cell_of_the_magic_shows_its_line(session):
    text = session.run_case("magic").value["failure"]

    assert "ZeroDivisionError" in text
    assert "1 / zero" in text
    assert not FRAME.search(text)


def test_a_cell_that_is_no_plain_python_is_refused_before_ranks_start(session):
    text = session.run_case("magic").value["refusal"]

    assert "line 1 of the cell is none" in text


def test_two_nodes_become_a_job_with_one_rank_on_each(session):
    outcome = session.run_case("own_job")
    ranks = outcome.value["all"]

    assert [rank["HOROVOD_RANK"] for rank in ranks] == ["0", "1"]
    assert [rank["HOROVOD_LOCAL_RANK"] for rank in ranks] == ["0", "0"]
    assert [rank["HOROVOD_CROSS_RANK"] for rank in ranks] == ["0", "1"]
    assert {rank["HOROVOD_CROSS_SIZE"] for rank in ranks} == {"2"}
    assert outcome.cell.startswith("2 ranks on 2 nodes as job ")
    assert "hello from 0\n" in outcome.cell
    assert "hello from 1" not in outcome.cell


def test_the_cell_says_that_the_job_runs_and_where(session):
    assert "Running on node[01-02].\n" in session.run_case("own_job").cell


def test_an_exception_in_a_job_of_its_own_shows_rank_and_traceback(session):
    failure = session.run_case("own_job_crash").value

    assert failure["rank"] == 1
    assert "ValueError: no such label: 11" in failure["text"]
    assert "in fail_on_rank_1" in failure["text"]
    assert failure["state"] == "failed"


def test_the_interrupt_button_ends_a_job_of_its_own_within_5_s(session):
    outcome = session.run_case("own_job_interrupt")

    assert outcome.value["seconds"] < 5
    assert outcome.value["state"] == "stopped"
    assert "Stopped: the run has ended." in outcome.cell


def test_a_detached_run_is_found_again_with_its_output_and_result(session):
    value = session.run_case("detached").value

    assert value["first_state"] in {"waiting", "running"}
    assert value["listed"]
    assert value["output"] == "hello from 0\n"
    assert value["result"]["HOROVOD_RANK"] == "0"
    assert value["last_state"] == "done"
    assert "detached" in value["table"]
    assert "done" in value["table"]


@pytest.mark.parametrize("case", ["progress", "own_job_progress"])
def test_the_cell_says_how_far_and_how_fast_all_ranks_are(session, case):
    lines = session.run_case(case).cell.splitlines()
    last = next(line for line in lines if line.startswith("Done, "))

    assert re.fullmatch(r"Done, 40 steps in \d+ s, loss 0\.0\d+", last)
    assert 100 < session.run_case(case).value["rate"] < 240


@pytest.mark.parametrize("case", ["progress", "own_job_progress"])
def test_the_progress_of_a_run_that_has_ended_can_be_read(session, case):
    last = session.run_case(case).value

    assert last["step"] == 40
    assert last["behind"] == [0, 0]


def test_a_function_that_reports_runs_without_ranks_too(session):
    assert "Step" not in session.run_case("progress_alone").cell


def test_a_script_gets_its_command_line_and_the_modules_beside_the_notebook(session):
    outcome = session.run_case("script")

    assert "from the module beside ['--epochs', '3'] __main__ 0" in outcome.cell
    assert outcome.value["result"] is None


def test_a_notebook_runs_as_a_job_with_its_parameters(session):
    outcome = session.run_case("notebook")

    assert outcome.value["output"] == "1.0"
    assert outcome.value["parameters"] == {"lr": 0.5}
    assert outcome.value["printed"] == ["beside lr is 0.5\n"]
    assert outcome.cell.startswith("train.ipynb is queued as job ")
    assert "with 2 GPUs on 1 node" in outcome.cell
    assert "beside lr is 0.5\n" in outcome.cell


def test_a_notebook_that_ran_stands_beside_the_original_with_its_log_and_result(session):
    value = session.run_case("notebook").value
    date, time, _, salt = value["id"].split("-")

    assert value["files"] == [
        f"train-{date}-{time}-{salt}.{suffix}" for suffix in ("ipynb", "json", "log")
    ]
    assert value["original"] == 4


def test_a_notebook_is_a_run_whose_steps_are_its_cells(session):
    value = session.run_case("notebook").value

    assert value["state"] == "done"
    assert value["steps"] == [4, 4]
    assert "[4/4] lr * 2\n" in value["log"]
    assert "2 GPUs on 1 node" in value["table"]


def test_a_notebook_that_is_stopped_keeps_the_cells_that_have_run(session):
    value = session.run_case("notebook_stopped").value

    assert value == {"states": ["stopped", "stopped"], "first_count": 1}


def test_a_notebook_submitted_by_the_command_is_the_same_job(session):
    value = session.run_case("notebook_submitted").value

    assert value["said"].startswith("train.ipynb is queued as job ")
    assert value["output"] == "1.0"


def test_a_failed_cell_is_named_with_its_number_first_line_and_error(session):
    value = session.run_case("notebook_failure").value
    said = "Cell 2, 'b = {}': KeyError: 'loss'"

    assert value["text"].startswith(said)
    assert "KeyError" in value["text"].splitlines()[-1]
    assert said in value["log"]
    assert value["state"] == value["result"]["state"] == "failed"
    cell = {"number": 2, "source": "b = {}", "error": "KeyError: 'loss'"}
    assert value["result"]["failed_cell"] == cell
    assert not value["ran"]


def test_a_sweep_has_a_row_for_each_point_with_arguments_state_and_results(session):
    rows = session.run_case("sweep").value["rows"]

    assert [row["lr"] for row in rows] == [1, 2, 3]
    assert [row["state"] for row in rows] == ["done", "done", "failed"]
    assert [row.get("loss") for row in rows] == [10, 20, None]
    assert rows[0]["size"] == "1"
    assert rows[2]["error"] == "ValueError: diverged"


def test_the_cell_says_how_far_a_sweep_is_and_which_point_is_the_best(session):
    outcome = session.run_case("sweep")

    assert "3 points as job " in outcome.cell
    assert "3 points: 2 done, 1 failed; best so far 10 with lr=1, " in outcome.cell
    assert "ValueError: diverged" in outcome.value["table"]


def test_the_same_sweep_again_runs_only_points_without_a_result(session):
    value = session.run_case("sweep").value

    assert value["again"] == ["done", "done", "done"]
    assert value["ran"] == ["1 False", "2 False", "3 False", "3 False"]


def test_a_sweep_of_a_script_gives_it_options_and_compares_the_loss_that_it_reports(session):
    value = session.run_case("sweep_script").value

    assert [(row["learning-rate"], row["state"]) for row in value["rows"]] == [
        (0.1, "done"),
        (0.3, "done"),
    ]
    assert value["summary"].startswith("2 points: 2 done; best so far 0 with learning-rate=0.3")
    assert value["again"] == []
    assert value["changed"]["kind"] == "LaunchError"


def test_a_script_of_a_sweep_finds_a_folder_for_the_curves_of_its_point(session):
    curves = session.run_case("sweep_script").value["curves"]

    assert curves == ["000-learning-rate=0.1", "001-learning-rate=0.3"]


def test_the_log_of_a_point_s_job_says_why_it_failed(session):
    assert "ValueError: diverged" in session.run_case("sweep").value["job_log"]


def test_the_worst_points_are_stopped_and_not_run_again(session):
    value = session.run_case("sweep_stop_worst").value

    assert [row["state"] for row in value["rows"]] == [*["done"] * 5, "pruned"]
    assert "its loss was 9, and most of the 5 other points" in value["rows"][5]["error"]
    assert value["again"] == []


def test_a_sweep_goes_on_when_its_kernel_was_killed(session):
    value = session.run_case("sweep_lost_kernel").value

    assert value["states"] == ["done", "done", "done"]
    assert value["ran"] == ["0", "1", "2"]
    assert value["n_jobs"] == 1


def test_a_second_sweep_beside_the_same_one_has_to_be_meant(session):
    refusal = session.run_case("sweep_lost_kernel").value["unclear"]

    assert refusal["kind"] == "LaunchError"
    assert "Continue with it: resume=True." in refusal["text"]


def test_each_point_of_a_sweep_has_a_folder_for_its_curves(session):
    assert session.run_case("sweep").value["curves"] == ["000-lr=1", "001-lr=2", "002-lr=3"]


def test_the_interrupt_button_ends_all_points_of_a_sweep(session):
    assert session.run_case("sweep_interrupt").value == {"alive": []}


def test_a_script_whose_name_is_no_utf_8_shows_its_error(session):
    outcome = session.run_case("odd_script")

    assert "FileNotFoundError" in outcome.value["text"]
    assert "caf\xe9" in outcome.cell
    assert "FileNotFoundError" in outcome.value["log"]
    # Pages and notebooks hold nothing but UTF-8.
    assert outcome.value["cell"].encode("utf-8")


def test_a_script_in_another_encoding_that_does_not_say_so_is_refused(session):
    refusal = session.run_case("odd_script").value["refusal"]

    assert refusal["kind"] == "LaunchError"
    assert "# -*- coding: latin-1 -*-" in refusal["text"]


def test_ranks_end_when_the_kernel_is_killed(session):
    session.lose_kernel()

    session.wait_until_no_rank_runs(timeout_s=8)
