"""Which folders TensorBoard may be asked for."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dsportal.slurm.errors import OptionsError
from portal.server.viewers.folder import parse_request, resolve_folder

NOBODY = 65534


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    (root / "runs" / "first").mkdir(parents=True)
    (tmp_path / "elsewhere" / "logs").mkdir(parents=True)
    return root


def test_a_folder_is_named_by_its_path_from_the_root(root: Path) -> None:
    logdir = resolve_folder("runs/../runs/first/", root=root)

    assert (logdir.name, logdir.path) == ("runs/first", root / "runs" / "first")


def test_an_absolute_path_inside_the_root_means_the_same(root: Path) -> None:
    assert resolve_folder(str(root / "runs"), root=root).name == "runs"


def test_a_root_that_is_a_link_itself_is_no_obstacle(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "home-by-link"
    link.symlink_to(root)

    for name in ("runs", str(link / "runs"), str(root / "runs")):
        assert resolve_folder(name, root=link).path == root / "runs"


@pytest.mark.parametrize(
    "name", ["../elsewhere/logs", "runs/../../elsewhere", "/etc", "..", "runs\0/../..", "\0"]
)
def test_a_path_outside_the_root_is_refused(root: Path, name: str) -> None:
    with pytest.raises(OptionsError, match="outside your files"):
        resolve_folder(name, root=root)


@pytest.mark.parametrize("name", ["", ".", "runs/..", "/../home/"])
def test_the_root_itself_is_refused(root: Path, name: str) -> None:
    name = str(root) if name.startswith("/") else name
    with pytest.raises(OptionsError, match="Choose the folder with the logs"):
        resolve_folder(name, root=root)


def test_a_link_that_leads_outside_is_refused_and_says_where_to(root: Path, tmp_path: Path) -> None:
    (root / "link").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OptionsError, match=r"link to .*/elsewhere/logs, which is outside"):
        resolve_folder("link/logs", root=root)


@pytest.mark.parametrize("name", ["isilon", "isilon/.", "scratch"])
def test_a_whole_shared_storage_is_refused(root: Path, tmp_path: Path, name: str) -> None:
    shared = [tmp_path / "elsewhere", tmp_path / "scratch"]
    shared[1].mkdir()
    (root / "isilon").symlink_to(shared[0])
    (root / "scratch").symlink_to(shared[1])

    with pytest.raises(OptionsError, match=r"all of the shared storage.*every folder in it"):
        resolve_folder(name, root=root, shared=shared)


def test_a_link_to_the_shared_storage_is_allowed(root: Path, tmp_path: Path) -> None:
    shared = tmp_path / "elsewhere"
    (root / "isilon").symlink_to(shared)

    logdir = resolve_folder("isilon/logs", root=root, shared=[shared])

    assert (logdir.name, logdir.path) == ("isilon/logs", shared / "logs")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gone", "does not exist"),
        ("runs/gone/deeper", "does not exist"),
        ("file", "is a file"),
        ("file/below", "cannot be opened"),
        ("loop", "cannot be opened"),
        ("\ud800", "cannot be opened"),
        ("x" * 300, "cannot be opened"),
    ],
    ids=["absent", "absent below", "file", "below a file", "loop", "surrogate", "too long"],
)
def test_what_is_no_folder_gets_a_sentence(root: Path, name: str, sentence: str) -> None:
    (root / "file").touch()
    (root / "loop").symlink_to("loop")

    with pytest.raises(OptionsError, match=sentence) as refused:
        resolve_folder(name, root=root)

    assert refused.value.message.isprintable()
    assert len(refused.value.message) < 300


@pytest.fixture
def as_somebody() -> Iterator[None]:
    """Root may read every folder, so the test is somebody else while it asks."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.fixture
def open_root() -> Iterator[Path]:
    """A folder that everybody reaches; those of pytest are its owner's alone."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "runs").mkdir(mode=0)
        yield Path(folder)


def test_a_folder_that_may_not_be_read_gets_a_sentence(open_root: Path, as_somebody: None) -> None:
    with pytest.raises(OptionsError, match="may not read"):
        resolve_folder("runs", root=open_root)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"logdir": "a"}, ("a",)),
        ({"logdirs": ["a", "b", "a"]}, ("a", "b")),
    ],
    ids=["one", "several"],
)
def test_a_request_names_one_folder_or_several(body: object, names: tuple[str, ...]) -> None:
    assert parse_request(body) == names


def test_a_selection_that_is_gone_is_no_question_of_how_many() -> None:
    with pytest.raises(OptionsError, match="Select one in the file browser"):
        parse_request({"logdirs": []})


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        "logs",
        {"logdir": None},
        {"logdir": 1},
        {"logdir": ["a"]},
        {"logdirs": "a"},
        {"logdirs": ["a", 1]},
        {"logdirs": ["a"] * 51},
        {"logdir": "a", "command": "id"},
    ],
    ids=repr,
)
def test_any_other_request_is_refused_with_what_to_send(body: object) -> None:
    with pytest.raises(OptionsError, match=r"logdir|Give its path|Select fewer"):
        parse_request(body)
