"""The portal's sentences in place of JupyterHub's."""

import re

import pytest

from portal.hub.pages.error_sentences import SENTENCES, explain

# As JupyterHub 6.1.1 fills in its texts.
JUPYTERHUB_SAYS = [
    "ada is pending spawn",
    "ada:lab is pending stop",
    "ada is pending check",
    "ada is pending rename",
    "ada:lab is already running",
    "User ada already has a default server",
    "ada is not starting...",
    "Action is not authorized with current scopes; requires any of [admin-ui]",
    "Missing or invalid credentials.",
    "No access to resources or resources not found",
    "No such user: nobody",
    "No such user nobody",
    "ada has no such server lab",
    "ada has no server named 'lab'",
    "Named servers are not enabled.",
    "User ada already has the maximum of 2 named servers.  One must be deleted before a new server"
    " can be created",
    "Invalid server_name: No_Name",
    "Invalid server_name (may not contain '/'): a/b",
    "Starting invalid server_name No_Name is disabled, contact your administrator",
    "Invalid display_name: x",
    "auth has expired for ada, login again",
    "ada's authentication has expired",
    "Spawner failed to start [status=1]. The logs for ada may contain details.",
    "Unhandled error starting server ada",
    "Redirect loop detected. Notebook has jupyterhub version 6.1.0, but the Hub expects 6.1.1.",
    "Too many users trying to log in right now. Try again in 30 seconds.",
    "Active user limit exceeded. Try again in a few minutes.",
    "'_xsrf' argument missing from POST",
    "'_xsrf' argument invalid",
    "XSRF cookie does not match POST argument",
    "Invalid user-option name opt-",
    "Cannot stop a server while it is being renamed",
    "Cannot delete the default server",
    "You do not have permission to access Server at /user/grace/",
    "Share not found or expired",
    "Invalid share code: abc",
    "You can't share with yourself!",
]
# Words of JupyterHub's that no user of the portal knows.
JARGON = re.compile(r"spawn|scope|server|pending|_xsrf|JupyterHub|[{}]", re.IGNORECASE)


@pytest.mark.parametrize("message", JUPYTERHUB_SAYS)
def test_each_message_of_jupyterhub_has_a_sentence_in_the_users_words(message: str) -> None:
    said = explain(message)

    assert said.endswith(".")
    assert not JARGON.search(said)


def test_each_sentence_is_tried_here() -> None:
    untried = [
        pattern.pattern
        for pattern, _ in SENTENCES
        if not any(pattern.search(message) for message in JUPYTERHUB_SAYS)
    ]

    assert untried == []


def test_names_stand_in_the_sentence() -> None:
    assert "named lab." in explain("ada has no such server lab")
    assert "no user nobody." in explain("No such user: nobody")
    assert "the name No_Name." in explain("Invalid server_name: No_Name")
    assert "the name a/b." in explain("Invalid server_name (may not contain '/'): a/b")
    assert "(2)" in explain(JUPYTERHUB_SAYS[15])


def test_a_program_learns_which_scopes_it_needs() -> None:
    message = "Action is not authorized with current scopes; requires any of [proxy, admin-ui]"

    assert "proxy, admin-ui" in explain(message, is_rest=True)
    assert "proxy" not in explain(message)


@pytest.mark.parametrize("message", ["", "Body must be a JSON dict or empty", "anything else"])
def test_other_messages_stay_as_they_are(message: str) -> None:
    assert explain(message) == ""
