"""What a notebook shows of an error of a run."""

from dsportal.errors import LaunchError, hide_frames


def test_an_error_of_a_run_is_shown_as_its_sentence() -> None:
    assert LaunchError("Start fewer ranks.")._render_traceback_() == [
        "LaunchError: Start fewer ranks."
    ]


def test_an_interrupt_is_shown_as_one_line_and_stays_an_interrupt() -> None:
    interrupt = KeyboardInterrupt()

    hide_frames(interrupt)

    # What IPython asks an exception for.
    assert interrupt._render_traceback_() == ["KeyboardInterrupt"]  # type: ignore[attr-defined]


def test_an_unexpected_error_keeps_its_frames() -> None:
    error = TypeError("a fault of this package")

    hide_frames(error)

    assert not hasattr(error, "_render_traceback_")
