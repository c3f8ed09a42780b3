"""Reports of sessions that idle GPUs of a kernel were given back, and who is told."""

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from portal.hub.mail.given_back import GivenBackReport, keep_report
from portal.hub.mail.message import Letterhead
from portal.hub.mail.watch import MailWatch
from portal.hub.settings.mail import MailSettings

HEAD = Letterhead(portal="Portal", url="", sender="portal@example.org")


def report(**changes: Any) -> bytes:
    return json.dumps({"notebook": "train.ipynb", "idle_s": 2700} | changes).encode()


read = GivenBackReport.model_validate_json


def test_it_names_the_notebook_and_the_time_and_nothing_that_could_be_clicked() -> None:
    assert "The GPUs of train.ipynb did nothing for 45 minutes" in read(report()).sentence
    named = read(report(notebook="win at https://example.com")).sentence
    assert named.startswith("The GPUs of a notebook did")


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"[]",
        report(idle_s=-1),
        report(idle_s=True),
        report(idle_s=1e300),
        report(notebook=7),
    ],
)
def test_what_is_no_report_is_refused(sent: bytes) -> None:
    with pytest.raises(ValidationError):
        read(sent)


@pytest.mark.parametrize(
    ("wants", "n_told"), [("At the end", 1), ("At both", 1), ("At the start", 0), ("", 0)]
)
async def test_who_wants_mail_about_the_end_is_told_once_in_ten_minutes(
    wants: str, n_told: int
) -> None:
    session = SimpleNamespace(session_id="s", is_ready=True, submitted_at=0.0, n_gpus=0)
    spawner: Any = SimpleNamespace(
        user=SimpleNamespace(name="ada"),
        name="",
        session=session,
        user_options={"mail": wants},
        left_s=None,
    )
    nowhere = SimpleNamespace(mail="", directory="", chat="")
    chat: Any = SimpleNamespace(address_of=lambda *_: "chat", add=None, send_soon=lambda: None)
    sent: list[Any] = []
    chat.add = sent.append
    book: Any = SimpleNamespace(of=lambda _: nowhere)
    log = logging.getLogger("mail")
    watch = MailWatch(MailSettings(), HEAD, chat=chat, book=book, path=None, log=log)
    # As many as a session likes to send.
    for n in range(100):
        keep_report(spawner, f"Report {n}.")

    await watch.look([spawner], at=0.0)
    await watch.look([spawner], at=15.0)
    keep_report(spawner, "Report again.")
    await watch.look([spawner], at=599.0)

    assert [message.body.split()[:2] for message in sent] == [["Report", "95."]] * n_told

    await watch.look([spawner], at=600.0)
    assert len(sent) == 2 * n_told
