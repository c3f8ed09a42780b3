"""What the check of [chat] says about services, with a server of the test's own."""

from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest

from portal.hub.settings.chat import ChatSettings
from portal.site.checks.chat import check_chat
from portal.site.checks.finding import Finding, Grade
from spawner.errors import SettingsError
from tests.hub.private_slapd import free_port
from tests.support.stand_in_server import Handler, serving

# Of a library that one of apprise's services loads.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

SECRET = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"


class Service(ThreadingHTTPServer):
    """Answers with one status, and keeps what it is asked."""

    daemon_threads = True

    def __init__(self, status: int) -> None:
        super().__init__(("127.0.0.1", 0), ServiceHandler)
        self.status = status
        self.asked: list[tuple[str, str, str]] = []


class ServiceHandler(Handler):
    """One request to it."""

    server: Service

    def do_GET(self) -> None:
        """Answer."""
        self.server.asked.append(("GET", self.path, self.headers.get("Authorization", "")))
        self.send_response(self.server.status)
        self.end_headers()


@pytest.fixture(params=[404, 503])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    with serving(Service(request.param)) as server:
        yield server


def said(findings: list[Finding]) -> str:
    return " ".join(f"{each.sentence} {each.cure}" for each in findings)


async def test_a_server_is_asked_once_without_message_and_secret(service: Service) -> None:
    host = f"127.0.0.1:{service.server_address[1]}"
    default = f"ntfy://ada:{SECRET}@{host}/gpus-{{user}}"

    findings = await check_chat(ChatSettings(allowed=(f"ntfy://{host}/",), default=default))

    assert [each.grade for each in findings] == [
        Grade.WARNING if service.status >= 500 else Grade.OK
    ]
    assert host in said(findings)
    assert SECRET not in said(findings)
    assert service.asked == [("GET", "/", "")]


async def test_a_server_that_does_not_answer_is_named_without_the_secret() -> None:
    host = f"127.0.0.1:{free_port()}"

    findings = await check_chat(ChatSettings(default=f"gotify://{host}/{SECRET}"))

    assert [each.grade for each in findings] == [Grade.WARNING]
    assert f"http://{host}/ " in said(findings)
    assert SECRET not in said(findings)


@pytest.mark.parametrize(
    "default", [f"discord://{SECRET}", f"nonsense://{SECRET}", f"{SECRET}", f"ntfy://[{SECRET}/"]
)
async def test_an_address_that_apprise_does_not_understand_is_said_and_not_printed(
    default: str, caplog: pytest.LogCaptureFixture
) -> None:
    findings = await check_chat(ChatSettings(default=default))

    assert [each.grade for each in findings] == [Grade.WARNING]
    assert "default" in said(findings)
    assert SECRET not in said(findings) + caplog.text


@pytest.mark.parametrize("default", [f"matrix://{64 * 'a'}", "mailto://ada:pass@example.org"])
async def test_where_no_server_can_be_asked_that_is_said(default: str) -> None:
    findings = await check_chat(ChatSettings(default=default))

    assert [each.grade for each in findings] == [Grade.SKIPPED]
    assert 64 * "a" not in said(findings)


async def test_each_service_whose_server_is_not_known_is_named() -> None:
    found = await check_chat(ChatSettings(allowed=("slack://", "twilio://", "slack://x/")))

    assert [each.grade for each in found] == 2 * [Grade.SKIPPED]
    assert [each.sentence.partition("://")[0] for each in found] == ["slack", "twilio"]


async def test_a_service_that_apprise_does_not_know_is_named() -> None:
    with pytest.raises(SettingsError, match=r"nonsense://, .* Take it away"):
        await check_chat(ChatSettings(allowed=("nonsense://",)))
