"""Mail about sessions, taken by a real mail server over StartTLS."""

import json
import logging
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from portal.hub.mail.events import Event
from portal.hub.mail.message import Letterhead, News, write
from portal.hub.mail.outbox import Outbox
from portal.hub.settings.mail import MailSettings
from portal.site.checks.finding import Grade
from portal.site.checks.mail_server import check_mail_server
from tests.hub.private_hub import LDAP_LOGIN, Browser, PrivateHub, running_hub_with
from tests.hub.private_slapd import BASE, Authority, free_port, running_slapd
from tests.hub.private_smtpd import DOMAIN, Smtpd, running_smtpd
from tests.support.eventually import eventually

SENDER = f"portal@{DOMAIN}"
# The stand-in's sessions have eight hours, so all of them end soon.
MAIL = f"""
[mail]
server = "127.0.0.1:{{port}}"
sender = "{SENDER}"
domain = "{DOMAIN}"
ldap_attribute = "mail"
own_domains = ["{DOMAIN}"]
before_end_minutes = 1000
"""
HEAD = Letterhead(portal="Portal", url="", sender=SENDER)
TWO_LOOKS_S = 40


@pytest.fixture(scope="module")
def smtpd(authority: Authority) -> Iterator[Smtpd]:
    with running_smtpd(authority) as server:
        yield server


@pytest.fixture(scope="module")
def hub(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority, smtpd: Smtpd
) -> Iterator[PrivateHub]:
    folder: Path = tmp_path_factory.mktemp("mail")
    with running_slapd(folder / "slapd", authority, ["ada", "grace", "linus"]) as (port, _):
        servers = json.dumps([f"ldap://127.0.0.1:{port}"])
        login = LDAP_LOGIN.format(servers=servers, ca=authority.certificate, base=BASE)
        login += MAIL.format(port=smtpd.port)
        trusted = {"SSL_CERT_FILE": str(authority.certificate)}
        with running_hub_with(folder / "hub", login, **trusted) as hub:
            yield hub


def settings_of(port: int) -> MailSettings:
    return MailSettings(server=f"127.0.0.1:{port}", sender=SENDER, domain=DOMAIN)


def outbox(port: int) -> Outbox:
    return Outbox(settings_of(port), password="", log=logging.getLogger("mail"))


def note(user: str) -> EmailMessage:
    return write(News(user=user, event=Event.STARTED), HEAD, f"{user}@{DOMAIN}")


def test_the_form_offers_mail_and_its_user_reads_of_the_end_at_the_address_of_the_directory(
    hub: PrivateHub, smtpd: Smtpd
) -> None:
    ada = Browser(hub)
    ada.log_in("ada").raise_for_status()
    assert "At both" in ada.get("/hub/spawn").text

    ada.choose("ada", gpus="2", mail="At the end").raise_for_status()

    (mail,) = eventually(lambda: smtpd.mail_to("ada.of.ldap"), TWO_LOOKS_S)
    assert mail["Subject"] == "Your session ends soon (Data Scientist Portal)"
    assert mail["From"] == f"Data Scientist Portal <{SENDER}>"
    assert "ends in 8 hours" in mail.get_content()

    # From now on the user's own address.
    fields = {"do": "mail", "address": f"ada.at.home@{DOMAIN}", "_xsrf": ada.xsrf()}
    ada.http.post(f"{hub.url}/hub/portal/messages", data=fields, timeout=30).raise_for_status()
    hub.set_cluster(ending="The node node01 was lost.")
    ada.stop("ada").raise_for_status()

    (mail,) = eventually(lambda: smtpd.mail_to("ada.at.home"), TWO_LOOKS_S)
    assert mail["Subject"].startswith("Your session has ended")
    assert "The node node01 was lost." in mail.get_content()
    assert len(smtpd.mail_to("ada.of.ldap")) == 1


def test_who_chose_none_gets_none_and_a_failed_start_says_why(
    hub: PrivateHub, smtpd: Smtpd
) -> None:
    hub.reset_cluster()
    hub.set_cluster(step=1)
    for name, mail in (("grace", "At the start"), ("linus", "")):
        browser = Browser(hub)
        browser.log_in(name).raise_for_status()
        browser.choose(name, gpus="1", mail=mail)
    eventually(lambda: "grace/" in (hub.cluster_path.parent / "mail.json").read_text(), TWO_LOOKS_S)

    hub.set_cluster(failure="The node node01 was lost.")

    (mail,) = eventually(lambda: smtpd.mail_to("grace.of.ldap"), TWO_LOOKS_S)
    assert mail["Subject"].startswith("Your session did not start")
    assert "The node node01 was lost." in mail.get_content()
    assert smtpd.mail_to("linus.of.ldap") == []


async def test_mail_waits_for_a_server_that_is_away_and_one_refusal_stops_no_other_mail(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    port = free_port()
    waiting = outbox(port)
    refused = note("mary")
    refused.replace_header("To", "mary@elsewhere.example")
    for message in (refused, note("mary")):
        waiting.add(message)

    await waiting.send()
    assert len(waiting) == 2

    with running_smtpd(authority, port=port) as server:
        await waiting.send()
        assert len(waiting) == 0
        assert len(eventually(lambda: server.mail_to("mary"), 20)) == 1


async def test_a_server_that_no_authority_of_the_system_knows_gets_nothing(
    smtpd: Smtpd, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = outbox(smtpd.port)
    waiting.add(note("mary"))

    await waiting.send()

    assert len(waiting) == 1
    assert "CERTIFICATE_VERIFY_FAILED" in caplog.text
    (found,) = await check_mail_server(settings_of(smtpd.port))
    assert "has a certificate that is not trusted" in found.sentence


async def test_the_check_of_the_site_says_whether_the_server_answers(
    smtpd: Smtpd, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))

    (up,) = await check_mail_server(settings_of(smtpd.port))
    (down,) = await check_mail_server(settings_of(free_port()))

    assert up.grade is Grade.OK
    assert down.grade is Grade.WARNING
    assert "Connection refused" in down.sentence
