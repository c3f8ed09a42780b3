"""A guest who may only read, in a session on the real cluster: refused everywhere else."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
import requests
from nbformat.v4 import new_code_cell, new_notebook

from deploy.one_machine import directory
from tests.security.conftest import detail, server_pid
from tests.security.guest import GUEST, OWNER, SESSION, OpenWebSocket, Person
from tests.security.routes import Route, session_routes
from tests.security.rules import READERS, SESSION_ANYBODY
from tests.support.eventually import eventually
from tests.support.port_program import PROGRAM
from tests.support.portal_below import BASE_URL, PortalBelow, running_portal_below
from tests.support.portal_client import sessions_of

pytestmark = pytest.mark.cluster

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# The portal says "within half a minute"; then a websocket has 5 s to be closed by both sides.
CUT_OFF_TIMEOUT_S = 60
NOTEBOOK, OTHER = "of-a-test/read.ipynb", "of-a-test/private.ipynb"
FOLDER = Path("/home", OWNER, "of-a-test")
COURSE = "course-of-a-test"
SHARING = """
[sharing]
enabled = true
[tools.files]
title = "Files"
command = ["/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1", "{port}"]
"""
SERVER_PYTHON = "/opt/data-scientist-portal/environments/server/bin/python"
# Leaves the session; what anybody may ask is asked as nobody.
LEAVES = r"/logout$"
SAYS_NOTHING = {
    "jupyterlab_server.themes_handler.ThemesHandler",
    "portal.server.ports.handlers.KeyedPortHandler",
}
TO_THE_PAGE = {"/lab", "/tree", "/lab/tree"}


@pytest.fixture(scope="module")
def portal() -> Iterator[PortalBelow]:
    """Yield a portal whose site allows sharing."""
    with running_portal_below(OWNER, SHARING) as portal:
        yield portal
    shutil.rmtree(FOLDER, ignore_errors=True)


@pytest.fixture(scope="module")
def owner(portal: PortalBelow) -> Person:
    """Somebody whose session runs, with two notebooks and a TensorBoard's logs."""
    owner = Person(portal, OWNER)
    FOLDER.mkdir()
    for path in (NOTEBOOK, OTHER):
        nbformat.write(new_notebook(cells=[new_code_cell(f"'{path}'")]), FOLDER.parent / path)
    (FOLDER / "logs").mkdir()
    (FOLDER / "program.py").write_text(PROGRAM)
    for path in (FOLDER, *FOLDER.rglob("*")):
        shutil.chown(path, OWNER)
    answer = owner.client.rest("POST", f"/users/{OWNER}/server", owner.token, json={})
    answer.raise_for_status()
    eventually(lambda: owner.server()["ready"], timeout_s=120)
    assert owner.enter("lab").ok
    return owner


@pytest.fixture(scope="module")
def guest(portal: PortalBelow) -> Person:
    return Person(portal, GUEST)


@pytest.fixture(scope="module")
def routes(owner: Person) -> list[Route]:
    (job,) = sessions_of(OWNER)
    return session_routes(OWNER, server_pid(job.job_id, OWNER), BASE_URL)


@dataclass
class Kept:
    """What a guest keeps from a time of work in the session.

    Attributes:
        keyed: Address of a program on a port, which needs no cookie.
    """

    addresses: dict[str, str]
    websockets: dict[str, OpenWebSocket]
    keyed: str


def start_program(owner: Person) -> int:
    """Start a program of the owner that listens on a port of the node; return the port."""
    terminal = owner.ask("POST", f"{SESSION}api/terminals").json()["name"]
    owner.type_in_terminal(
        terminal,
        f"{SERVER_PYTHON} ~/of-a-test/program.py ~/of-a-test/asked ~/of-a-test/port 127.0.0.1"
        " >/dev/null 2>&1 &",
    )
    return eventually(lambda: int((FOLDER / "port").read_text()), timeout_s=60)


def keep(guest: Person, port: int) -> Kept:
    """Use everything that has an address, as somebody who may work."""
    board = guest.ask(
        "POST", f"{SESSION}portal/api/tensorboards", json={"logdir": "of-a-test/logs"}
    )
    assert board.status_code == 201, board.text
    tools = guest.ask("GET", f"{SESSION}portal/api/tools").json()
    (tool,) = [one["url"] for one in tools if one["title"] == "Files"]
    terminal = guest.ask("POST", f"{SESSION}api/terminals").json()["name"]
    page = {"Sec-Fetch-Dest": "document"}
    keyed = guest.ask("GET", f"{SESSION}port/{port}/", headers=page).headers["Location"]
    return Kept(
        addresses={
            "TensorBoard": board.json()["url"] + "data/environment",
            "web tool": tool,
            "terminal": f"{SESSION}terminals/{terminal}",
            "program": f"{SESSION}port/{port}/",
        },
        websockets={
            name: guest.open_websocket(path)
            for name, path in {
                "terminal": f"{SESSION}terminals/websocket/{terminal}",
                "events": f"{SESSION}api/events/subscribe",
                "program": f"{SESSION}port/{port}/socket",
                "program with its key": f"{keyed}socket",
            }.items()
        },
        keyed=keyed,
    )


@pytest.fixture(scope="module")
def kept(owner: Person, guest: Person) -> Iterator[Kept]:
    """Let the guest work, then only read one notebook."""
    port = start_program(owner)
    owner.share(name=GUEST, may="work")
    assert guest.enter("lab").ok
    kept = keep(guest, port)
    for name, address in kept.addresses.items():
        assert eventually(lambda a=address: guest.ask("GET", a).ok, timeout_s=60), name
    assert requests.get(guest.portal.root + kept.keyed, timeout=30).ok
    for name, one in kept.websockets.items():
        assert one.status == 101, name
        assert not one.is_closed(), name
    # First what is less: for a moment without both, the guest would be let out altogether.
    owner.share(name=GUEST, may="document", document=NOTEBOOK)
    owner.share("unshare", name=GUEST, may="work")
    yield kept
    for one in kept.websockets.values():
        one.close()


def test_who_worked_is_refused_at_the_addresses_of_that_time(guest: Person, kept: Kept) -> None:
    def refused() -> bool:
        answers = {
            name: guest.ask("GET", path).status_code for name, path in kept.addresses.items()
        }
        assert set(answers.values()) == {403}, answers
        return True

    eventually(refused, timeout_s=CUT_OFF_TIMEOUT_S)


def test_the_key_of_a_program_ends_with_the_right_to_work(
    owner: Person, guest: Person, kept: Kept
) -> None:
    url = guest.portal.root + kept.keyed
    eventually(lambda: requests.get(url, timeout=30).status_code == 404, timeout_s=60)
    # A page that was kept leads to the login and its check, which refuses the guest ...
    page = {"Sec-Fetch-Dest": "document"}
    answer = guest.ask("GET", f"{kept.keyed}page?x=1", headers=page)
    assert answer.status_code == 302
    assert guest.ask("GET", answer.headers["Location"], headers=page).status_code == 403
    # ... and gives the owner the new key.
    answer = owner.ask("GET", answer.headers["Location"], headers=page)
    assert answer.headers["Location"].endswith("/page?x=1")
    assert answer.headers["Location"] != f"{kept.keyed}page?x=1"
    assert requests.get(guest.portal.root + answer.headers["Location"], timeout=30).ok


def test_what_was_open_at_that_time_is_cut_off(kept: Kept) -> None:
    def are_closed() -> bool:
        still = [name for name, one in kept.websockets.items() if not one.is_closed()]
        assert not still
        return True

    eventually(are_closed, timeout_s=CUT_OFF_TIMEOUT_S)


@pytest.fixture(scope="module")
def reader(guest: Person, kept: Kept) -> Person:
    """The guest, once the session knows that they may only read."""
    eventually(
        lambda: guest.ask("GET", f"{SESSION}api/status").status_code == 403,
        timeout_s=CUT_OFF_TIMEOUT_S,
    )
    return guest


def test_the_one_notebook_may_be_read(reader: Person) -> None:
    assert reader.enter(f"portal/reading/{NOTEBOOK}").ok
    refused = reader.ask("GET", f"{SESSION}portal/reading/{OTHER}")
    assert (refused.status_code, OTHER in refused.text) == (403, True)
    notebook = reader.open_websocket(f"{SESSION}portal/reading-changes/{NOTEBOOK}")
    assert notebook.status == 101
    notebook.close()
    other = reader.open_websocket(f"{SESSION}portal/reading-changes/{OTHER}")
    assert other.status == 403
    other.close()


def is_refused(answer: requests.Response, route: Route, method: str) -> bool:
    """Tell whether an answer is the refusal of somebody who only reads."""
    path = route.path.removeprefix(SESSION.removesuffix("/"))
    if method == "GET" and path in TO_THE_PAGE:
        return answer.headers.get("Location") == f"{SESSION}portal/reading"
    # Browsers ask so before a request from another site, without a login; it says nothing.
    if method == "OPTIONS" and answer.status_code in {200, 204} and not answer.content:
        return ask_as_nobody(method, answer.url).status_code == answer.status_code
    # Themes are files of JupyterLab's; of a key, any other than the right one is unknown.
    if answer.status_code == 404 and route.handler in SAYS_NOTHING:
        return ask_as_nobody(method, answer.url).status_code == 404
    # Tornado itself answers 405 to methods that a handler does not have at all.
    return answer.status_code in {403, 405}


def ask_as_nobody(method: str, url: str) -> requests.Response:
    """Ask without a login."""
    return requests.request(method, url, allow_redirects=False, timeout=60)


@pytest.mark.parametrize("by_token", [False, True], ids=["cookie", "token"])
def test_every_route_refuses_whoever_only_reads(
    reader: Person, routes: list[Route], by_token: bool
) -> None:
    closed = [one for one in routes if one.pattern not in SESSION_ANYBODY | READERS]
    wrong = []
    for route in closed:
        for method in METHODS:
            answer = reader.ask(method, route.path, by_token=by_token)
            if not is_refused(answer, route, method):
                wrong.append(f"{method} {route.path} of {route.handler}: {detail(answer)}")
        socket = reader.open_websocket(route.path, by_token=by_token)
        refusals = {403, 405, *({404} if route.handler in SAYS_NOTHING else ())}
        is_entry = route.path.removeprefix(SESSION[:-1]) in TO_THE_PAGE
        if socket.status not in refusals and not is_entry:
            wrong.append(f"WebSocket {route.path} of {route.handler}: {socket.status}")
        socket.close()

    assert len(closed) > 120
    assert not wrong, "\n".join(wrong)


def test_the_page_for_reading_takes_nothing(reader: Person, routes: list[Route]) -> None:
    of_readers = [one for one in routes if one.pattern in READERS]
    assert {one.pattern for one in of_readers} == READERS
    for route in of_readers:
        for method in set(METHODS) - {"GET"}:
            assert reader.ask(method, route.path).status_code in {403, 405}, (method, route.path)


def test_what_is_public_is_nothing_more_to_whoever_reads(
    reader: Person, routes: list[Route]
) -> None:
    for route in routes:
        if route.pattern not in SESSION_ANYBODY or route.pattern == LEAVES:
            continue
        for method in METHODS:
            as_reader = reader.ask(method, route.path)
            as_nobody = ask_as_nobody(method, reader.portal.root + route.path)
            codes = (as_reader.status_code, as_nobody.status_code)
            # What a redirect leads to is asked in its turn.
            is_nothing = codes[0] in {codes[1], 403} or as_reader.is_redirect
            assert is_nothing, (method, route.path, detail(as_reader))


@pytest.fixture
def course(owner: Person, reader: Person) -> Iterator[str]:
    """Yield a group of LDAP that both are in, and know of since their login."""
    entry = f"cn={COURSE},{directory.GROUPS}"
    group_id = 20_000 + os.getpid() % 10_000
    change_directory(
        f"dn: {entry}\nobjectClass: posixGroup\ncn: {COURSE}\ngidNumber: {group_id}\n"
        f"memberUid: {OWNER}\nmemberUid: {GUEST}\n",
        "ldapadd",
    )
    try:
        for person in (owner, reader):
            eventually(lambda name=person.name: COURSE in groups_of(name), timeout_s=60)
            person.log_in()
        assert owner.enter("lab").ok
        yield COURSE
    finally:
        change_directory(f"dn: {entry}\nchangetype: delete\n", "ldapmodify")


def change_directory(entry: str, program: str) -> None:
    """Change LDAP as its administrator."""
    subprocess.run(
        [program, "-Q", "-Y", "EXTERNAL", "-H", directory.SOCKET_ADDRESS],
        input=entry,
        check=True,
        text=True,
        capture_output=True,
        timeout=30,
    )


def groups_of(name: str) -> list[str]:
    """Return the groups of a user, as the name service has them now."""
    done = subprocess.run(["id", "-Gn", name], check=True, capture_output=True, text=True)
    return done.stdout.split()


def test_who_leaves_the_group_that_reads_has_no_access_after_the_next_login(
    owner: Person, reader: Person, course: str
) -> None:
    owner.share("unshare", name=GUEST, may="read", document=NOTEBOOK)
    page = f"{SESSION}portal/reading/{OTHER}"
    owner.share(kind="group", name=course, may="document", document=OTHER)
    # Logs in to the session, which may still remember the right that has just ended.
    reader.enter(f"portal/reading/{OTHER}")

    def may_read() -> bool:
        answer = reader.ask("GET", page)
        assert answer.status_code == 200, detail(answer)
        return True

    eventually(may_read, timeout_s=CUT_OFF_TIMEOUT_S)
    assert reader.enter(f"portal/reading/{NOTEBOOK}").status_code == 403
    notebook = reader.open_websocket(f"{SESSION}portal/reading-changes/{OTHER}")
    assert notebook.status == 101

    change_directory(
        f"dn: cn={course},{directory.GROUPS}\nchangetype: modify\ndelete: memberUid\n"
        f"memberUid: {GUEST}\n",
        "ldapmodify",
    )
    eventually(lambda: course not in groups_of(GUEST), timeout_s=60)
    began_s = time.monotonic()
    cookies = reader.client.http.cookies.copy()
    reader.log_in()

    # Whoever kept the cookies of before is refused, too.
    reader.client.http.cookies.update(cookies)
    eventually(lambda: reader.ask("GET", page).status_code == 403, timeout_s=CUT_OFF_TIMEOUT_S)
    eventually(notebook.is_closed, timeout_s=CUT_OFF_TIMEOUT_S)
    assert time.monotonic() - began_s < CUT_OFF_TIMEOUT_S
    reader.log_in()
    assert reader.enter(f"portal/reading/{OTHER}").status_code == 403
    notebook.close()
