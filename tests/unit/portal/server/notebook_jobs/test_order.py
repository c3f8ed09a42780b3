import json
from pathlib import Path

import pytest

from portal.server.notebook_jobs.errors import NotebookJobError
from portal.server.notebook_jobs.order import NotebookOrder, parse_order

ROOT = Path("/home/ada")


def test_a_form_becomes_a_command_whose_words_are_the_users_own() -> None:
    body = {
        "path": "nets/my net.ipynb",
        "gpus": "4",
        "nodes": "2",
        "hours": "1.5",
        "parameters": {"lr": "0.1", "word": "a=b; rm -rf ~"},
    }
    order = parse_order(json.dumps(body).encode(), ROOT)

    assert order.arguments() == [
        *("job", "new", "--submit", "--gpus=4", "--nodes=2", "--hours=1.5"),
        "/home/ada/nets/my net.ipynb",
        *("-p", "lr=0.1", "-p", "word=a=b; rm -rf ~"),
    ]


def test_what_a_request_leaves_out_has_a_default() -> None:
    assert parse_order(b'{"path": "x.ipynb"}', ROOT) == NotebookOrder(
        path=ROOT / "x.ipynb", gpus=1, nodes=1, hours=8.0, parameters={}
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"path": "x.ipynb", "gpus": "many"}',
        b'{"path": "x.ipynb", "gpus": 1e999}',
        b'{"path": "x.ipynb", "parameters": 3}',
        b'{"path": "x.ipynb", "parameters": {"a": "\\u0000"}}',
        b'{"path": "../eve/x.ipynb"}',
        b'{"path": "/etc/x.ipynb"}',
        b'{"path": ""}',
    ],
)
def test_a_request_that_asks_for_something_else_is_refused(body: bytes) -> None:
    with pytest.raises(NotebookJobError):
        parse_order(body, ROOT)
