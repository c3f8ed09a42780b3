"""Words and headers of the portal's mail."""

import pytest

from portal.hub.mail.events import Event
from portal.hub.mail.message import Letterhead, News, write

HEAD = Letterhead(
    portal="Portal: Ünits, Ltd",
    url="https://portal.example.org/hub/home",
    sender="portal@example.org",
    domain="example.org",
)


@pytest.mark.parametrize(
    ("news", "sentence"),
    [
        (
            News(user="ada", event=Event.STARTED, n_gpus=2, left_s=28_800),
            "Your session with 2 GPUs runs. It ends in 8 hours at the latest.",
        ),
        (
            News(user="ada", event=Event.ENDS_SOON, name="second", left_s=900),
            "Your session second ends in 15 minutes. Save your work",
        ),
        (
            News(user="ada", event=Event.ENDED, explanation="The node was lost."),
            "The node was lost",
        ),
    ],
)
def test_it_says_what_happened_and_leads_to_the_portal(news: News, sentence: str) -> None:
    mail = write(news, HEAD)

    assert sentence in mail.get_content()
    assert HEAD.url in mail.get_content()
    assert mail["To"] == "ada@example.org"


@pytest.mark.parametrize("user", ["ada\nBcc: eve@example.com", "ada@example.com", "ada,eve", "a b"])
def test_a_name_adds_neither_a_header_nor_a_second_recipient(user: str) -> None:
    try:
        mail = write(News(user=user, event=Event.STARTED), HEAD)
    except ValueError:
        return

    (address,) = mail["To"].addresses
    assert address.domain == "example.org"
    assert mail["Bcc"] is None
