"""The page in place of one that failed."""

from pathlib import Path

from tests.support.session_server import session_server


def test_a_page_that_fails_leads_to_a_rescue_session(tmp_path: Path) -> None:
    path = tmp_path / "home/.jupyter/labconfig/page_config.json"
    path.parent.mkdir(parents=True)
    # Valid JSON, on which JupyterLab fails all the same.
    path.write_text("[]")
    with session_server(tmp_path, extensions=("portal.server", "jupyterlab")) as server:
        answer = server.get("lab")

    assert answer.status_code == 500
    assert '<a href="/hub/spawn?rescue=1">Start a rescue session</a>' in answer.text
