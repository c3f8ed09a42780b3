import json

import pytest

from portal.environments.command import Node, enter, kernel_spec
from portal.environments.entry import parse_entry
from portal.environments.image_kernel import parse_look
from portal.environments.probe import quick_problem

BESIDE = "/home/ada/images/tf.kernel"
TABLE = {"image": "/usr/bin/true", "kernel_packages": BESIDE}


@pytest.mark.parametrize(
    ("machine", "libc", "platform"),
    [
        ("x86_64", ["glibc", "2.36"], "x86_64-manylinux_2_36"),
        ("x86_64", ["glibc", "2.30"], "x86_64-manylinux_2_28"),
        ("x86_64", ["glibc", "2.41"], "x86_64-manylinux_2_40"),
        ("aarch64", ["glibc", "2.5"], "aarch64-manylinux_2_17"),
        ("x86_64", ["", ""], "x86_64-unknown-linux-musl"),
        ("aarch64", ["musl", "1.2.5"], "aarch64-unknown-linux-musl"),
    ],
)
def test_wheels_fit_the_image_and_not_this_machine(
    machine: str, libc: list[str], platform: str
) -> None:
    packages = {"numpy": "2.4", "null": "1", "odd": None}
    answer = json.dumps(["3.12", machine, libc, packages, ["ipykernel"]])

    python = parse_look(f"a message of the image\ndsportal-image {answer}\n")

    assert python is not None
    assert (python.version, python.platform) == ("3.12", platform)
    assert python.packages == {"numpy": "2.4"}
    assert python.lacks == ("ipykernel",)


def test_what_is_no_python_is_not_taken_for_one() -> None:
    assert parse_look("usage: python3 SCRIPT\n") is None


def test_what_is_beside_an_image_is_seen_in_it_and_cannot_be_changed_there() -> None:
    entry = parse_entry("tf", TABLE, where="environments.toml")

    spec = kernel_spec(entry, Node())

    assert f"--bind={BESIDE}:{BESIDE}:ro" in enter(entry, Node(), [])
    assert spec["env"]["PORTAL_KERNEL_PACKAGES"] == BESIDE


def test_an_image_without_what_was_beside_it_says_so() -> None:
    # In a home that only its user may enter, too, where these tests run as another one.
    entry = parse_entry("tf", TABLE, where="environments.toml")
    apptainer = entry.path

    problem = quick_problem(entry, Node(container=apptainer))

    assert f"{BESIDE}, which has the ipykernel of the image, does not exist" in problem
