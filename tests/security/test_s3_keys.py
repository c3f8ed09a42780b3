"""Two users of the S3 store on one node: neither reaches the other's keys, or acts with them."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.conftest import tensorboard_python  # noqa: F401
from tests.server.test_s3 import ask, enter, start
from tests.support.kernels import run_cell
from tests.support.notebook_server import NotebookServer
from tests.support.s3_server import PYTHON as MOTO_PYTHON
from tests.support.s3_server import S3Server

USER_IDS = {"ada": 12345, "grace": 12346}
LIST = """
import boto3
print([found["Key"] for found in boto3.client("s3").list_objects_v2(Bucket="{}")["Contents"]])
"""


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    server = S3Server(*USER_IDS, has_own_buckets=True)
    for name in USER_IDS:
        server.ask(name, "create_bucket", Bucket=name)
        server.ask(name, "put_object", b"private", Bucket=name, Key=f"notes-of-{name}.txt")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def sessions(
    s3: S3Server,
    tensorboard_python: Path,  # noqa: F811
) -> Iterator[dict[str, NotebookServer]]:
    """A session of each: ada has entered her keys, grace has them in her credentials file."""
    with tempfile.TemporaryDirectory(prefix="dsp-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        sessions = {}
        for user, user_id in USER_IDS.items():
            (folder / user).mkdir()
            sessions[user] = start(
                folder / user, tensorboard_python, user_id=user_id, endpoint=s3.url
            )
        enter(sessions["ada"], *s3.keys["ada"]).raise_for_status()
        write_keys(credentials(sessions["grace"]), *s3.keys["grace"])
        yield sessions
        for server in sessions.values():
            server.stop()


def credentials(server: NotebookServer) -> Path:
    return server.root / ".aws/credentials"


def write_keys(path: Path, access_key: str, secret_key: str) -> None:
    path.parent.mkdir()
    path.write_text(
        f"[default]\naws_access_key_id = {access_key}\naws_secret_access_key = {secret_key}\n"
    )
    path.chmod(0o600)
    for one in (path.parent, path):
        os.chown(one, USER_IDS["grace"], USER_IDS["grace"])


@pytest.mark.parametrize(("user", "other"), [("ada", "grace"), ("grace", "ada")])
def test_each_acts_with_keys_of_their_own_alone(
    sessions: dict[str, NotebookServer], user: str, other: str
) -> None:
    server = sessions[user]
    model = {"type": "file", "format": "text", "content": "changed"}
    theirs = f"{other}/notes-of-{other}.txt"

    (mine,) = ask(server, "GET", f"contents/{user}").json()["content"]
    assert mine["name"] == f"notes-of-{user}.txt"
    for refused in (
        ask(server, "GET", f"contents/{other}"),
        ask(server, "GET", f"contents/{theirs}"),
        ask(server, "GET", f"files/{theirs}"),
        ask(server, "PUT", f"contents/{theirs}", json=model),
        ask(server, "DELETE", f"contents/{theirs}"),
    ):
        assert refused.status_code == 403, refused.text
        assert "private" not in refused.text
    told = ask(server, "GET", f"contents/{other}").json()["message"]
    assert f"Your keys do not allow this in the bucket {other}" in told


def test_boto3_in_a_cell_has_the_keys_of_the_file_and_their_rights(
    sessions: dict[str, NotebookServer],
) -> None:
    cell = "import subprocess as s; print(s.run({!r}, capture_output=True, text=True))"

    def list_bucket(user: str, bucket: str) -> str:
        argv = [str(MOTO_PYTHON), "-c", LIST.format(bucket)]
        return asyncio.run(run_cell(sessions[user], "python3", cell.format(argv)))

    assert "'notes-of-grace.txt'" in list_bucket("grace", "grace")
    assert "AccessDenied" in list_bucket("grace", "ada")
    assert "NoCredentialsError" in list_bucket("ada", "ada"), "entered keys are not for cells"


def test_no_secret_is_in_a_process_a_log_a_home_or_a_notebook(
    sessions: dict[str, NotebookServer], s3: S3Server
) -> None:
    notebook = {"type": "notebook"}
    for user, server in sessions.items():
        ask(server, "POST", f"contents/{user}", json=notebook).raise_for_status()
        ask(server, "GET", f"contents/{user}/gone.txt")
        asyncio.run(run_cell(server, "python3", "import os; print(dict(os.environ))"))
    secrets = [secret.encode() for _, secret in s3.keys.values()]

    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                text = (process / name).read_bytes()
            except OSError:  # It has ended.
                continue
            assert not any(secret in text for secret in secrets), process
    own = credentials(sessions["grace"])
    folders = [server.log_path.parent for server in sessions.values()]
    for path in (path for folder in folders for path in folder.rglob("*")):
        if path.is_file() and path != own:
            assert not any(secret in path.read_bytes() for secret in secrets), path


def test_another_user_of_the_node_reads_neither_the_file_nor_the_memory(
    sessions: dict[str, NotebookServer],
) -> None:
    victim = sessions["grace"]
    program = "import sys; open(sys.argv[1], 'rb').read(1)"
    for path in (
        credentials(victim),
        f"/proc/{victim.process.pid}/environ",
        f"/proc/{victim.process.pid}/mem",
    ):
        argv = [sys.executable, "-I", "-c", program, str(path)]
        stranger = subprocess.run(
            argv, user=USER_IDS["ada"], extra_groups=[], capture_output=True, text=True, check=False
        )
        assert "PermissionError" in stranger.stderr, path
