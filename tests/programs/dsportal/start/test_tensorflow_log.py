"""What `import tensorflow` prints, by TF_CPP_MIN_LOG_LEVEL."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dsportal.start.tensorflow_log import read_level, without_notes
from tests.support.debugger import FIRST

BEFORE_SETUP = (
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
)
INFO = "I0000 00:00:1795350234.867177    9754 port.cc:153] oneDNN custom operations are on.\n"
WARNING = "W0000 00:00:1795350234.867177    9754 gpu_device.cc:2344] Cannot dlopen some GPU lib.\n"
ERROR = "E0000 00:00:1795350234.867177    9754 tsl/cuda_dnn.cc:12] Loaded runtime is too old.\n"
FATAL = "F0000 00:00:1795350234.867177    9754 cpu_feature_guard.cc:12] needs AVX.\n"
OWN = "my own words\n"
NO_END = "half a line"
ALL = BEFORE_SETUP + INFO + OWN + WARNING + ERROR + FATAL + NO_END

# Writes as TensorFlow's libraries do: to the descriptor, from below Python.
PACKAGE = f"""
import os, sys
os.write(2, {(BEFORE_SETUP + INFO + WARNING).encode()!r})
print("from Python", file=sys.stderr)
"""
PROGRAM = """
import os, sys
os.write(2, b"before\\n")
try:
    import tensorflow
    import tensorflow.keras
except ImportError as error:
    print(error)
os.write(2, b"after\\n")
"""


@pytest.mark.parametrize(
    ("level", "kept"),
    [
        (0, ALL),
        (1, OWN + WARNING + ERROR + FATAL + NO_END),
        (2, OWN + ERROR + FATAL + NO_END),
        (3, OWN + FATAL + NO_END),
    ],
)
def test_a_level_leaves_out_the_notes_below_it_and_nothing_else(level, kept):
    assert without_notes(ALL.encode(), level) == kept.encode()


@pytest.mark.parametrize(
    ("text", "level"), [(None, 0), ("", 0), ("1", 1), ("9", 3), ("-1", 0), ("x", 0)]
)
def test_a_level_that_is_none_asks_for_everything(text, level):
    assert read_level(text) == level


def run_import(folder: Path, package: str, level: str | None) -> tuple[str, str]:
    """Import a package named tensorflow; return what came out and what came up."""
    (folder / "tensorflow").mkdir()
    (folder / "tensorflow" / "__init__.py").write_text(package)
    (folder / "tensorflow" / "keras.py").write_text("")
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{FIRST}:{folder}"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environ if level is None else environ | {"TF_CPP_MIN_LOG_LEVEL": level},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, done.stderr


def test_an_import_prints_what_the_level_asks_for(tmp_path):
    _, printed = run_import(tmp_path, PACKAGE, "1")

    assert printed == "before\n" + WARNING + "from Python\nafter\n"


def test_an_import_without_a_level_prints_everything(tmp_path):
    _, printed = run_import(tmp_path, PACKAGE, None)

    assert printed == "before\n" + BEFORE_SETUP + INFO + WARNING + "from Python\nafter\n"


def test_an_import_that_fails_says_so_and_keeps_what_was_printed(tmp_path):
    came_out, printed = run_import(tmp_path, PACKAGE + "raise ImportError('no libcudart')", "1")

    assert came_out == "no libcudart\n"
    assert printed == "before\n" + WARNING + "from Python\nafter\n"
