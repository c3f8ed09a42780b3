"""What a neighbour on a node tries against another user's session; prints what he got.

Run by the node's own Python as the neighbour, with what he knows as JSON in its argument.
"""

import http.client
import json
import os
import signal
import socket
import ssl
import sys

# Files of a process that only its owner may read, and its memory.
OF_A_PROCESS = ("environ", "fd", "mem", "maps", "cwd", "root", "fdinfo", "io", "stack")
REFUSED = {0, 401, 403, 404, 405}
FORGED = (
    {},
    {"Authorization": "token 0123456789abcdef"},
    {"X-Forwarded-User": "grace", "Remote-User": "grace"},
    {"X-Forwarded-For": "10.77.0.1", "X-Real-Ip": "10.77.0.1", "X-Scheme": "https"},
    {"Cookie": "jupyterhub-user-grace=forged; _xsrf=forged; jupyterhub-session-id=forged"},
    {"X-XSRFToken": "forged", "Cookie": "_xsrf=forged", "Origin": "http://10.77.0.1:8000"},
)


def read_process(pid: int) -> list[str]:
    """Return what can be read or done of a process."""
    got = []
    for name in OF_A_PROCESS:
        path = f"/proc/{pid}/{name}"
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                os.listdir(path)
            elif os.path.islink(path):
                os.readlink(path)
            else:
                with open(path, "rb") as file:
                    # Memory is opened and then refused, or ends at its first page.
                    if not file.read(1):
                        continue
            got.append(path)
        except OSError:
            pass
    for number in (0, signal.SIGTERM, signal.SIGUSR1):
        try:
            os.kill(pid, number)
            got.append(f"signal {number} to {pid}")
        except OSError:
            pass
    return got


def open_paths(paths: list[str]) -> list[str]:
    """Return the files and folders that can be read or written."""
    return [path for path in paths if os.access(path, os.R_OK) or os.access(path, os.W_OK)]


def ask_server(address: str, port: int, paths: list[str]) -> list[str]:
    """Return what the session's server answers without a login, asked past the proxy."""
    blind = ssl.create_default_context()
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    tls = http.client.HTTPSConnection(address, port, timeout=20, context=blind)
    plain = http.client.HTTPConnection(address, port, timeout=20)
    connection = tls if speaks_tls(address, port, blind) else plain
    return [
        f"{status} {path} {sorted(headers)}"
        for path in paths
        for headers in FORGED
        if (status := status_of(connection, path, headers)) not in REFUSED
    ]


def speaks_tls(address: str, port: int, blind: ssl.SSLContext) -> bool:
    """Tell whether a server takes TLS; one with plain HTTP never answers the greeting."""
    try:
        with socket.create_connection((address, port), timeout=5) as sock, blind.wrap_socket(sock):
            return True
    except OSError:
        return False


def status_of(connection: http.client.HTTPConnection, path: str, headers: dict[str, str]) -> int:
    """Return the status of an answer; 0 where there is none or it leads to the login."""
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
    is_login = "oauth2/authorize" in (answer.getheader("Location") or "")
    return 0 if answer.status == 302 and is_login else answer.status


known = json.loads(sys.argv[1])
print(
    json.dumps(
        {
            "uid": os.getuid(),
            "processes": [one for pid in known["pids"] for one in read_process(pid)],
            "paths": open_paths(known["paths"]),
            "answers": ask_server(known["address"], known["port"], known["asked"]),
        }
    )
)
