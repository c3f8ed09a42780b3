"""Models that programs download, and those that the site has already."""

import stat
from pathlib import Path

import pytest

from dsportal.slurm.errors import PortalError
from portal.server.storage.models import choose_cache, link_models

MODEL = "huggingface/hub/models--site--tiny"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The site's folder, as Hugging Face, torch.hub and Keras fill theirs."""
    site = tmp_path / "models"
    for name in (
        f"{MODEL}/blobs/abc",
        f"{MODEL}/refs/main",
        "huggingface/hub/.locks/abc.lock",
        "huggingface/token",
        "torch/hub/checkpoints/resnet.pth",
        "keras/models/vgg.h5",
        "keras/keras.json",
    ):
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    snapshot = site / MODEL / "snapshots/1/config.json"
    snapshot.parent.mkdir(parents=True)
    snapshot.symlink_to("../../blobs/abc")
    return site


def test_programs_keep_models_in_a_folder_of_the_user_alone(tmp_path: Path) -> None:
    folder, environ = tmp_path / "scratch/ada/models", {"TORCH_HOME": "/chosen"}

    choose_cache(folder, environ)

    assert environ == {
        "HF_HOME": f"{folder}/huggingface",
        "TORCH_HOME": "/chosen",
        "KERAS_HOME": f"{folder}/keras",
    }
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["scratch", "scratch/ada"])
def test_a_folder_that_others_could_change_is_not_used(tmp_path: Path, name: str) -> None:
    folder, environ = tmp_path / "scratch/ada", dict[str, str]()
    folder.mkdir(parents=True)
    (tmp_path / name).chmod(0o777)

    with pytest.raises(PortalError, match=f"Models stay in the home: {tmp_path / name} belongs"):
        choose_cache(folder, environ)

    assert environ == {}


def test_models_of_the_site_are_found_and_added_to(site: Path, tmp_path: Path) -> None:
    home, torch = tmp_path / "ada", tmp_path / "torch"
    own = home / ".cache" / MODEL

    for _ in range(2):
        link_models(site, home, {"TORCH_HOME": str(torch)})

    # A new revision of the model: the folders and the name of the newest are the user's.
    (own / "blobs/def").touch()
    (own / "refs/main").write_text("2")

    assert (own / "snapshots/1/config.json").read_text() == f"{MODEL}/blobs/abc"
    weights = "hub/checkpoints/resnet.pth"
    assert (torch / weights).samefile(site / "torch" / weights)
    assert (home / ".keras/models/vgg.h5").exists()
    assert (site / MODEL / "refs/main").read_text() == f"{MODEL}/refs/main"
    assert {path.name for path in (home / ".cache/huggingface").rglob("*")} & {
        "token",
        ".locks",
    } == set()
    assert not (home / ".keras/keras.json").exists()


def test_what_the_user_has_stays(site: Path, tmp_path: Path) -> None:
    own = tmp_path / "ada/.keras/models/vgg.h5"
    own.parent.mkdir(parents=True)
    own.write_text("mine")

    link_models(site, tmp_path / "ada", {})

    assert own.read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["torch", "torch/hub", "torch/hub/checkpoints", "torch/hub/checkpoints/resnet.pth"]
)
def test_what_others_could_have_planted_is_left_out(site: Path, tmp_path: Path, name: str) -> None:
    (site / name).chmod(0o777)

    link_models(site, tmp_path / "ada", {})

    assert not (tmp_path / "ada/.cache/torch/hub/checkpoints/resnet.pth").exists()
    assert (tmp_path / "ada/.keras/models/vgg.h5").exists()


def test_a_folder_of_the_site_that_others_can_change_is_left_out(
    site: Path, tmp_path: Path
) -> None:
    site.chmod(0o777)

    with pytest.raises(PortalError, match="Take that right away"):
        link_models(site, tmp_path / "ada", {})

    assert not (tmp_path / "ada").exists()
