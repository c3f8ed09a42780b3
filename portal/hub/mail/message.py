"""The words of the portal's messages; those about an end are the pages' own."""

from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate, make_msgid

from dsportal.amounts import format_duration
from portal.hub.formatting import format_gpus
from portal.hub.mail.events import Event

_SUBJECTS = {
    Event.STARTED: "Your session has started",
    Event.NOT_STARTED: "Your session did not start",
    Event.ENDS_SOON: "Your session ends soon",
    Event.ENDED: "Your session has ended",
    Event.GPUS_GIVEN_BACK: "GPUs of your session are given back",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """One event of one user's session.

    Attributes:
        name: The session's name; empty for the one without a name.
        explanation: Why it ended or did not start, with the next step, or which GPUs are given
            back; empty for other events.
    """

    user: str
    event: Event
    name: str = ""
    n_gpus: int = 0
    left_s: float | None = None
    explanation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letterhead:
    """What all messages of a site have in common.

    Attributes:
        portal: The portal's name.
        url: Address that users open; empty if the site has not said.
        sender: Address that mail comes from.
    """

    portal: str
    url: str
    sender: str


def subject(news: News, head: Letterhead) -> str:
    """Return the line above a message."""
    return f"{_SUBJECTS[news.event]} ({head.portal})"


def body(news: News, head: Letterhead) -> str:
    """Return the text of a message."""
    where = [f"Open it at {head.url}"] if head.url else []
    return "\n\n".join([_text(news), *where])


def write(news: News, head: Letterhead, to: str) -> EmailMessage:
    """Return the mail about an event to the address `to`."""
    message = EmailMessage()
    message["From"] = Address(head.portal, addr_spec=head.sender)
    message["To"] = Address(addr_spec=to)
    message["Subject"] = subject(news, head)
    message["Date"] = formatdate(localtime=True)
    message["Message-ID"] = make_msgid(domain=head.sender.rpartition("@")[2])
    # RFC 3834: no out-of-office reply answers it.
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(f"{body(news, head)}\n")
    return message


def _text(news: News) -> str:
    session = f"Your session {news.name}".rstrip()
    left = "" if news.left_s is None else format_duration(int(news.left_s))
    if news.event is Event.STARTED:
        ends = f" It ends in {left} at the latest." if left else ""
        return f"{session} with {format_gpus(news.n_gpus)} runs.{ends}"
    if news.event is Event.ENDS_SOON:
        return f"{session} ends in {left}. Save your work, or extend it if its page offers that."
    return news.explanation
