"""A user's own Jupyter configuration: what it may not decide, and when it is to blame."""

from pathlib import Path

import pytest

from spawner.own_config import (
    SWITCH,
    blame,
    drop_portals_settings,
    find_own_files,
    reading_sentence,
    without_sentence,
)

FILES = ["~/.jupyter/jupyter_notebook_config.py", "~/.jupyter/jupyter_server_config.d/old.json"]
READ = f"[I 12:00 dsportal] {reading_sentence(FILES)}\n"


def test_the_files_of_a_configuration_are_found_and_nothing_else(tmp_path: Path) -> None:
    for name in (".jupyter/lab/user-settings/x.json", *(file[2:] for file in FILES)):
        tmp_path.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        tmp_path.joinpath(name).touch()

    assert find_own_files({"HOME": str(tmp_path)}) == FILES
    assert find_own_files({"HOME": str(tmp_path), SWITCH: "1"}) == []
    assert find_own_files({"HOME": str(tmp_path), "JUPYTER_CONFIG_DIR": "/tmp/rescue"}) == []


def test_what_only_the_portal_decides_is_dropped_and_the_rest_stays() -> None:
    config = {
        "ServerApp": {"root_dir": "/gone", "sock": "/tmp/s", "terminado_settings": {"a": 1}},
        "NotebookApp": {"notebook_dir": "/gone"},
        "IPKernelApp": {"port": 1},
    }

    dropped = list(drop_portals_settings(config))

    assert dropped == ["ServerApp.root_dir", "ServerApp.sock", "NotebookApp.notebook_dir"]
    assert config == {
        "ServerApp": {"terminado_settings": {"a": 1}},
        "NotebookApp": {},
        "IPKernelApp": {"port": 1},
    }


@pytest.mark.parametrize(
    ("log_lines", "blamed"),
    [
        ("Listening on port 3\nImportError", ""),
        (f"{READ}Bad config encountered", ", ".join(FILES)),
        (f"{READ}Bad config\n{without_sentence(FILES)}\nImportError", ""),
        (
            f"{READ}{without_sentence(FILES)}\nNot a directory: '/home/a/.local/share/jupyter/x'",
            "/home/a/.local/share/jupyter/x",
        ),
        ("cannot import name from /opt/server/share/jupyter/lab", ""),
    ],
)
def test_a_file_is_blamed_only_if_the_server_read_it_or_names_it(
    log_lines: str, blamed: str
) -> None:
    assert blame(log_lines) == blamed
