"""What a session may report of GPUs."""

import json

import pytest
from pydantic import ValidationError

from portal.hub.admin.gpu_use import UseReport


def report(percents: object) -> bytes:
    return json.dumps({"percents": percents}).encode()


def test_a_report_has_the_average_use_by_job() -> None:
    percents = UseReport.model_validate_json(report({"7": 0, "8": 45.5})).percents
    assert percents == {"7": 0.0, "8": 45.5}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 4000,
        report(["7"]),
        report({"7": -1}),
        report({"7": 100.1}),
        report({"7": float("nan")}),
        report({"7": True}),
        report({"7": "50"}),
        report({"7": None}),
        report({"7.batch": 50}),
        report({"\u0667": 50}),
        report({"9" * 30: 50}),
        report({str(n): 50 for n in range(101)}),
    ],
    ids=lambda body: body[:24].decode("latin-1"),
)
def test_anything_else_is_refused(body: bytes) -> None:
    with pytest.raises(ValidationError):
        UseReport.model_validate_json(body)
