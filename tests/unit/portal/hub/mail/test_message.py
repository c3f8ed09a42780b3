"""Words and headers of the portal's mail."""

import pytest

from portal.hub.mail.events import Event
from portal.hub.mail.message import Letterhead, News, write

HEAD = Letterhead(
    portal="Portal: Ünits, Ltd",
    url="https://portal.example.org/hub/home",
    sender="portal@example.org",
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
    mail = write(news, HEAD, "ada@example.org")

    assert sentence in mail.get_content()
    assert HEAD.url in mail.get_content()
    assert mail["To"] == "ada@example.org"
