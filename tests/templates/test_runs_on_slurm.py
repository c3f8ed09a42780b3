"""dsportal.run inside a real session: the same tests as over the stand-in for srun."""

import pytest

from tests.support.eventually import eventually
from tests.support.launch_contract import *  # noqa: F403
from tests.templates.conftest import run_beside

pytestmark = pytest.mark.cluster


def test_the_result_of_a_sweep_is_a_data_frame(session):
    assert session.run_case("sweep_stop_worst").value["results"] == "DataFrame"


def test_another_user_of_the_node_cannot_speak_to_the_run_even_with_its_secret(session):
    job_id = session.start_case("open_store")
    folder = session.working_dir / "open_store"
    address = eventually(lambda: (folder / "address").read_text(), timeout_s=30)
    host, _, path = address.partition("/")
    ask = (
        "import http.client\n"
        f"client = http.client.HTTPConnection({host!r}, timeout=5)\n"
        f"client.request('GET', '/{path}:0/global_/0')\n"
        "print('STATUS', client.getresponse().status)\n"
    )
    try:
        statuses = {user: run_beside(job_id, user, ask) for user in ("ada", "grace")}
    finally:
        (folder / "done").touch()
        # Its folder goes with the module, and a run that waits for a file in it would hold GPUs.
        session.output_of(job_id)

    assert statuses == {"ada": "STATUS 403", "grace": "STATUS 404"}
