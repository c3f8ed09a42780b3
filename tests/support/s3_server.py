"""A server of S3 on this machine, moto, which checks keys and signatures."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

PYTHON = Path("/opt/data-scientist-portal/environments/moto/bin/python")
# Users who may do everything, each with keys; from then on requests need keys.
_PROGRAM = """
import json, sys, threading, urllib.request
import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=int(sys.argv[1]), verbose=False)
server.start()
url = "http://{}:{}".format(*server.get_host_and_port())
any_key = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
iam = boto3.client("iam", endpoint_url=url, region_name="us-east-1", **any_key)
everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
policy = json.dumps({"Version": "2012-10-17", "Statement": [everything]})
keys = {}
for name in sys.argv[2:]:
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName="all", PolicyDocument=policy)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    keys[name] = [key["AccessKeyId"], key["SecretAccessKey"]]
plain = {"Content-Type": "text/plain"}
ask = urllib.request.Request(f"{url}/moto-api/reset-auth", data=b"0", headers=plain)
urllib.request.urlopen(ask).read()
print(json.dumps([url, keys]), flush=True)
threading.Event().wait()
"""
# Prints the body of the answer, if it has one.
_CLIENT = """
import json, sys
import boto3

url, access_key, secret_key, method, arguments = sys.argv[1:]
keys = {"aws_access_key_id": access_key, "aws_secret_access_key": secret_key}
client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", **keys)
body = sys.stdin.buffer.read()
told = json.loads(arguments) | ({"Body": body} if method == "put_object" else {})
answer = getattr(client, method)(**told)
sys.stdout.buffer.write(answer["Body"].read() if "Body" in answer else b"")
"""


class S3Server:
    """The server, and keys of its users.

    Attributes:
        url: Its endpoint.
        keys: Access key and secret key of each user.
    """

    def __init__(self, *users: str, port: int = 0) -> None:
        self.process = subprocess.Popen(
            [PYTHON, "-c", _PROGRAM, str(port), *users],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
            text=True,
        )
        assert self.process.stdout is not None
        self.url: str
        self.keys: dict[str, tuple[str, str]]
        self.url, self.keys = json.loads(self.process.stdout.readline())

    def stop(self) -> None:
        """End it; what was stored is lost."""
        self.process.kill()
        self.process.communicate()

    def ask(self, user: str, method: str, body: bytes = b"", **arguments: Any) -> bytes:
        """Call a method of Amazon's own client with a user's keys; return the body it answers.

        Args:
            user: Whose keys.
            method: Such as "get_object".
            body: That of a file.
            arguments: Those of the method, as JSON has them.
        """
        access_key, secret_key = self.keys[user]
        words = [self.url, access_key, secret_key, method, json.dumps(arguments)]
        done = subprocess.run(
            [PYTHON, "-c", _CLIENT, *words], input=body, stdout=subprocess.PIPE, check=True
        )
        return done.stdout
