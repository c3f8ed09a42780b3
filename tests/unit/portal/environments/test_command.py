import sys
from pathlib import Path

import pytest

from dsportal.launch.outside import read_image_start
from portal.environments.command import Node, kernel_spec
from portal.environments.entry import parse_entry
from portal.environments.probe import probe_node


@pytest.mark.parametrize(("session", "images"), [("{}", ""), ("/mine:{}", "/mine")])
def test_dsportal_is_in_an_image_without_hiding_the_images_own_path(
    session: str, images: str, tmp_path: Path
) -> None:
    environ = {"PORTAL_LIBRARY": str(tmp_path), "PYTHONPATH": session.format(tmp_path)}
    entry = parse_entry("ngc", {"image": "/srv/ngc.sif"}, where="environments.toml")

    node = probe_node(environ)
    spec = kernel_spec(entry, node)

    assert node.binds == (tmp_path,)
    assert f"--bind={tmp_path}" in spec["argv"]
    # Apptainer leaves an image's own PYTHONPATH in force if the session's is empty.
    assert spec["env"]["PYTHONPATH"] == images


def test_ranks_start_in_the_image_of_their_kernel_and_without_the_folders_of_its_session() -> None:
    table = {"image": "/srv/ngc.sif", "variables": {"PYTHONPATH": "/opt/site"}}
    entry = parse_entry("ngc", table, where="environments.toml")
    node = Node(
        container=Path("/bin/apptainer"),
        binds=(Path("/srv/isilon"),),
        session_binds=(Path("/tmp/session"),),
        python_path="/mine",
        has_gpus=True,
    )

    spec = kernel_spec(entry, node)
    start = read_image_start(spec["env"])

    assert "--bind=/tmp/session" in spec["argv"]
    assert start is not None
    assert start.python == sys.executable
    assert start.rank[:-1] == (
        *("/usr/bin/env", "PYTHONPATH=/opt/site", "/bin/apptainer", "--quiet", "exec", "--nv"),
        *("--bind=/srv/isilon", "/srv/ngc.sif", "python3", "-c"),
    )
    assert "run_module('dsportal.worker.rank'" in start.rank[-1]


def test_kernels_of_r_start_no_ranks_in_their_image() -> None:
    entry = parse_entry("r", {"image": "/srv/r.sif", "language": "r"}, where="environments.toml")

    assert read_image_start(kernel_spec(entry, Node(python_path=""))["env"]) is None


def test_an_entry_can_set_the_path_of_its_image() -> None:
    table = {"image": "/srv/ngc.sif", "variables": {"PYTHONPATH": "/opt/site"}}
    entry = parse_entry("ngc", table, where="environments.toml")

    assert kernel_spec(entry, Node(python_path=""))["env"]["PYTHONPATH"] == "/opt/site"


def test_other_kernels_keep_the_sessions_path() -> None:
    entry = parse_entry("mine", {"conda": "/srv/mine"}, where="environments.toml")

    assert "PYTHONPATH" not in kernel_spec(entry, Node(python_path=""))["env"]


def test_a_kernel_is_started_by_a_file_that_its_image_sees(tmp_path: Path) -> None:
    entry = parse_entry("ngc", {"image": "/srv/ngc.sif"}, where="environments.toml")
    for environ in ({"PORTAL_LIBRARY": str(tmp_path)}, {}):
        node = probe_node(environ)

        argv = kernel_spec(entry, node)["argv"]

        program = Path(argv[argv.index("-f") - 1])
        assert [bind for bind in node.binds if program.is_relative_to(bind)]
        # Others of the node see it in lists of processes.
        assert len(" ".join(argv)) < 1000


@pytest.mark.parametrize(
    ("table", "offers"),
    [
        ({"virtualenv": "/opt/own"}, True),
        ({"image": "/opt/own.sif"}, True),
        ({"virtualenv": "/opt/own", "language": "r"}, False),
        ({"interpreter": "/usr/bin/jython", "language": "python2"}, False),
    ],
)
def test_a_debugger_is_offered_where_its_ports_are_guarded(
    table: dict[str, str], offers: bool
) -> None:
    entry = parse_entry("own", table, where="environments.toml")
    node = Node(container=Path("/usr/bin/apptainer"), python_path="")

    assert kernel_spec(entry, node)["metadata"]["debugger"] is offers
