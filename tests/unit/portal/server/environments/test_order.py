"""What the dialogs ask for becomes a command, and nothing in it an option."""

from pathlib import Path
from typing import Any

import pytest

from portal.environments.errors import RegistryError
from portal.server.environments.order import parse_order, parse_packages

ROOT = Path("/home/ada")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"action": "new", "name": "nlp"}, "new nlp"),
        (
            {"action": "new", "name": "nlp", "like": "pytorch", "packages": "einops\nkeras<4\n"},
            "new nlp einops keras<4 --like=pytorch",
        ),
        (
            {"action": "new", "name": "nlp", "python": "3.12", "requirements": "a/r.txt"},
            "new nlp --requirements /home/ada/a/r.txt --python=3.12",
        ),
        (
            {"action": "new", "name": "nlp", "folder": "/srv/course", "share": True},
            "new nlp --folder=/srv/course --share",
        ),
        # In one's own home nobody else reads it.
        ({"action": "new", "name": "nlp", "folder": "", "share": True}, "new nlp"),
        (
            {"action": "add", "name": "tf", "image": "docker://nvcr.io/nvidia/tf:1", "key": "k"},
            "add tf --image=docker://nvcr.io/nvidia/tf:1 --registry-key=/home/ada/k",
        ),
        (
            {"action": "add", "name": "tf", "image": "images/tf.sif", "folder": "isilon"},
            "add tf --image=/home/ada/images/tf.sif --into=/home/ada/isilon",
        ),
        ({"action": "update", "name": "nlp", "packages": "wandb"}, "update nlp wandb"),
        ({"action": "remove", "name": "nlp"}, "remove nlp --yes"),
        ({"action": "share", "name": "nlp", "group": "course"}, "share nlp --with=course"),
        ({"action": "share", "name": "nlp"}, "share nlp"),
        ({"action": "unshare", "name": "nlp"}, "unshare nlp"),
    ],
)
def test_a_dialog_becomes_the_words_of_a_command(body: dict[str, Any], words: str) -> None:
    assert list(parse_order(body, ROOT).words) == words.split()


def test_a_title_may_have_blanks() -> None:
    order = parse_order({"action": "new", "name": "nlp", "title": "My words"}, ROOT)

    assert order.words == ("new", "nlp", "--name=My words")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (None, "Name the action to take, one of: new, add, update, remove, share, unshare."),
        ({"action": "delete", "name": "nlp"}, "Name the action"),
        ({"action": ["new"], "name": "nlp"}, "Name the action"),
        ({"action": "new"}, "Give the environment a short name"),
        ({"action": "new", "name": "--help"}, "name is '--help', but must be a line"),
        ({"action": "new", "name": 7}, "name is 7"),
        ({"action": "new", "name": "nlp", "title": "a\nb"}, "title is 'a"),
        ({"action": "new", "name": "nlp", "python": "3\x00"}, "python is '3"),
        (
            {"action": "new", "name": "nlp", "like": "python3", "python": "3.12"},
            "has the Python of python3",
        ),
        ({"action": "new", "name": "nlp", "packages": "--index-url=x"}, "names no package"),
        ({"action": "update", "name": "nlp", "packages": "-r\nr.txt"}, "names no package"),
        ({"action": "add", "name": "tf"}, "Name the image"),
        ({"action": "add", "name": "tf", "image": "~nobody-here/a"}, "There is no home"),
    ],
)
def test_what_is_malformed_says_what_is_wanted(body: Any, sentence: str) -> None:
    with pytest.raises(RegistryError) as caught:
        parse_order(body, ROOT)

    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("text", "packages"),
    [
        ("", ()),
        ("einops lightning", ("einops", "lightning")),
        ("# what we need\neinops  # tensors\r\n", ("einops",)),
        ("torch>=2,<3", ("torch<3,>=2",)),
        ("tool @ https://example.org/tool.whl#sha256=ab", None),
    ],
)
def test_packages_are_written_in_lines_or_with_blanks_between(
    text: str, packages: tuple[str, ...] | None
) -> None:
    found = parse_packages(text)

    assert found == packages if packages is not None else found[0].endswith("#sha256=ab")
