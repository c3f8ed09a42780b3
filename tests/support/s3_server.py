"""A server of S3 on this machine, moto, which checks keys and signatures."""

import json
import subprocess
from pathlib import Path
from typing import Any

PYTHON = Path("/opt/data-scientist-portal/environments/moto/bin/python")
# Users with keys, who may do everything, or what they like in the bucket of their name; from then
# on requests need keys.
_PROGRAM = """
import json, sys, threading, urllib.request
import boto3
from moto.server import DomainDispatcherApplication, ThreadedMotoServer, create_backend_app
from werkzeug.serving import make_server

port, has_own_buckets, certificate, key_file, *names = sys.argv[1:]
server = ThreadedMotoServer(ip_address="127.0.0.1", port=int(port), verbose=False)
server.start()
url = "http://{}:{}".format(*server.get_host_and_port())
any_key = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
iam = boto3.client("iam", endpoint_url=url, region_name="us-east-1", **any_key)
allow = lambda action, *places: {"Effect": "Allow", "Action": action, "Resource": list(places)}
keys = {}
for name in names:
    here = f"arn:aws:s3:::{name}"
    own = [allow("s3:ListAllMyBuckets", "*"), allow("s3:*", here, f"{here}/*")]
    may = own if has_own_buckets else [allow("*", "*")]
    policy = json.dumps({"Version": "2012-10-17", "Statement": may})
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName="rights", PolicyDocument=policy)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    keys[name] = [key["AccessKeyId"], key["SecretAccessKey"]]
plain = {"Content-Type": "text/plain"}
ask = urllib.request.Request(f"{url}/moto-api/reset-auth", data=b"0", headers=plain)
urllib.request.urlopen(ask).read()
tls_url = ""
if certificate:
    pages = DomainDispatcherApplication(create_backend_app)
    trust = (certificate, key_file)
    tls = make_server("127.0.0.1", 0, pages, threaded=True, ssl_context=trust)
    threading.Thread(target=tls.serve_forever, daemon=True).start()
    tls_url = f"https://localhost:{tls.server_port}"
print(json.dumps([url, tls_url, keys]), flush=True)
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


# Writes as many small files.
_FILL = """
import sys
from concurrent.futures import ThreadPoolExecutor
import boto3

url, access_key, secret_key, bucket, name, n_files = sys.argv[1:]
keys = {"aws_access_key_id": access_key, "aws_secret_access_key": secret_key}
client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", **keys)
put = lambda n: client.put_object(Bucket=bucket, Key=name.format(n=n), Body=b"x")
with ThreadPoolExecutor(8) as pool:
    list(pool.map(put, range(int(n_files))))
"""


class S3Server:
    """The server, and keys of its users.

    Args:
        users: They may do everything, or see all buckets and do what they like in that of their
            name alone.
        port: 0 for any.
        certificate: File of the certificate for localhost, and of its key; it is then asked over
            TLS, too.

    Attributes:
        tls_url: The one with TLS; empty without a certificate.
    """

    def __init__(
        self,
        *users: str,
        port: int = 0,
        has_own_buckets: bool = False,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        rights = "own" if has_own_buckets else ""
        told = (str(port), rights, *(certificate or ("", "")))
        self.process = subprocess.Popen(
            [PYTHON, "-c", _PROGRAM, *told, *users],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
            text=True,
        )
        assert self.process.stdout is not None
        self.url: str
        self.tls_url: str
        self.keys: dict[str, tuple[str, str]]
        self.url, self.tls_url, self.keys = json.loads(self.process.stdout.readline())

    def stop(self) -> None:
        """End it; what was stored is lost."""
        self.process.kill()
        self.process.communicate()

    def ask(self, user: str, method: str, body: bytes = b"", **arguments: Any) -> bytes:
        """Call a method of Amazon's own client with a user's keys; return the body it answers.

        Args:
            method: Such as "get_object".
        """
        access_key, secret_key = self.keys[user]
        words = [self.url, access_key, secret_key, method, json.dumps(arguments)]
        done = subprocess.run(
            [PYTHON, "-c", _CLIENT, *words], input=body, stdout=subprocess.PIPE, check=True
        )
        return done.stdout

    def fill(self, user: str, bucket: str, name: str, n_files: int) -> None:
        """Put small files into a bucket; `name` has {n} where each has its number."""
        words = [self.url, *self.keys[user], bucket, name, str(n_files)]
        subprocess.run([PYTHON, "-c", _FILL, *words], check=True)
