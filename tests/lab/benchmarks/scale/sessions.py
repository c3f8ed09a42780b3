"""Many sessions of one hub: rows of its database, and the one server that answers for all."""

import http.server
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.private_hub import ADDRESS
from tests.support.stand_in_server import Handler, serving

# How often each server tells the hub of its activity: JUPYTERHUB_ACTIVITY_INTERVAL of JupyterHub.
ACTIVITY_INTERVAL_S = 300

FILL = """\
import secrets, sys
from datetime import datetime, timezone
from jupyterhub import orm
from spawner.slurm.squeue import RECORDS
from spawner.session.session import Session, job_comment, identify_hub
url, secret_path, address, port, n_sessions, tokens_path = sys.argv[1:]
db = orm.new_session_factory(url)()
# Each token would wait for the disk.
commit, db.commit = db.commit, db.flush
role = orm.Role.find(db, "user")
tokens = open(tokens_path, "w")
secret = bytes.fromhex(open(secret_path).read().strip())
comment = job_comment(identify_hub(secret))
for number in range(1, int(n_sessions) + 1):
    name = f"user{number:04d}"
    user = orm.User(name=name)
    db.add(user)
    db.flush()
    # Whoever logs in gets this role; without it no token of the user may report activity.
    user.roles.append(role)
    token = secrets.token_hex(16)
    orm.APIToken.new(token=token, user=user, scopes=["users:activity!user"])
    print(name, token, file=tokens)
    session = Session(user=name, n_gpus=1, memory_mib=48 * 1024, walltime_s=28800,
                      job_id=number, address=address, port=int(port), is_ready=True)
    server = orm.Server(proto="http", ip=address, port=int(port), base_url=f"/user/{name}/",
                        cookie_name=f"jupyterhub-user-{name}")
    db.add(server)
    # As JupyterHub registers each session.
    client = orm.OAuthClient(identifier=f"jupyterhub-user-{name}", secret=token,
                             redirect_uri=f"/user/{name}/oauth_callback", allowed_scopes=[])
    db.add(orm.Spawner(name="", user=user, server=server, state=session.to_state(),
                       oauth_client=client,
                       started=datetime.now(timezone.utc).replace(tzinfo=None)))
    values = {"JobID": number, "UserName": name, "State": "RUNNING", "BatchHost": "node01",
              "StartTime": "2026-01-01T00:00:00", "EndTime": "2046-01-01T00:00:00",
              "TimeLeft": "7:00:00", "RestartCnt": 0, "Name": session.job_name,
              "Comment": comment, "Reason": "None"}
    print("|".join(str(values[field]) for field in RECORDS.fields))
commit()
"""


class _Answer(Handler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


class _Server(http.server.ThreadingHTTPServer):
    # With the default of 5, a connection of many at once is lost now and then.
    request_queue_size = 128


@contextmanager
def answering_server(address: str = ADDRESS) -> Iterator[int]:
    with serving(_Server((address, 0), _Answer)) as server:
        yield server.server_port
