"""What another user of the node gets from ports on it."""

import json
import subprocess

NEIGHBOUR = 20002
TIMEOUT_S = 60
# Connects and says how many bytes it got until the other end closed the connection.
_READER = """
import json, socket, sys

def read(port):
    n_bytes = 0
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        try:
            connection.sendall(bytes.fromhex(greeting))
            while data := connection.recv(1000):
                n_bytes += len(data)
                if is_enough:
                    break
        except ConnectionError:
            pass
        except TimeoutError:
            return "not closed"
    return n_bytes

numbers, greeting, is_enough = json.loads(sys.argv[1])
print(json.dumps([read(port) for port in numbers]))
"""


def read(
    ports: list[int], user_id: int | None, *, greeting: bytes, is_enough: bool = False
) -> list[int | str]:
    """Return the bytes that a user gets from each port.

    Args:
        ports: On 127.0.0.1.
        user_id: None for this process's own user.
    """
    arguments = json.dumps([ports, greeting.hex(), is_enough])
    done = subprocess.run(
        ["/usr/bin/python3", "-I", "-c", _READER, arguments],
        user=user_id,
        group=user_id,
        extra_groups=None if user_id is None else [],
        cwd="/",
        stdout=subprocess.PIPE,
        timeout=TIMEOUT_S,
        check=True,
    )
    return list(json.loads(done.stdout))
