"""The routes of hub and session, each with a path that can be asked for."""

import json
import os
import pwd
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENVIRONMENTS = Path("/opt/data-scientist-portal/environments")
SETTINGS = Path("/etc/data-scientist-portal/portal.toml")
PROBES = Path(__file__).parent / "probes"
PROBE_TIMEOUT_S = 120

# Of words alone, the first stands for all.
WORDS = re.compile(r"\(([\w-]+)(?:\|[\w-]+)+\)")
# What stands for a piece of a pattern, the longest first; then whatever group is left is an "x".
SAMPLES = (
    (r"(?P<path>(?:(?:/[^/]+)+|/?))", "/x"),
    (r"(?P<workspace>/workspaces/[a-zA-Z0-9\-\_]+)?", ""),
    (r"(?P<tree>/tree/.*)?", ""),
    (r"(?P<user_path>/.*)?", "/lab"),
    (r"(?P<kernel_id>\w+-\w+-\w+-\w+-\w+)", "a-b-c-d-e"),
    (r"(?P<session_id>\w+-\w+-\w+-\w+-\w+)", "a-b-c-d-e"),
    (r"(?P<mode>lab|doc)", "lab"),
    (r"(?P<action>restart|interrupt)", "restart"),
    (r"(robots\.txt|favicon\.ico)", "robots.txt"),
    (r"(robots\.txt)", "robots.txt"),
    (r"(favicon\.ico)", "favicon.ico"),
    (r"(user|services)", "user"),
    (r"(?:absolute/)?", ""),
    (r"(?!/hub/).*", "/x"),
    (r"(/.*|)", "/x"),
    (r"(/.*)?", "/x"),
    (r"(?:/([^/]+))?", ""),
    (r"/?(.*)", "/x"),
    (r"/?$", "$"),
    (r"(\d+)", "404"),
    (r"([0-9]{1,5})", "404"),
    (r"(isilon/.*)", "isilon/x"),
    (r"(scratch\-of\-a\-test/.*)", "scratch-of-a-test/x"),
    (r"([0-9a-f]{32})", "0" * 32),
    (r"(?:/.*)?", "/x"),
)
# A web tool, whose key is another one in each session.
TOOL = re.compile(r"/portal/tools/[0-9a-f]{24}/[a-z0-9-]+")
GROUP = re.compile(r"\((?:\?P<\w+>)?([^()]*)\)\??")


@dataclass(frozen=True, slots=True)
class Route:
    """A route of a running application.

    Attributes:
        path: A path that the pattern matches, with the victim's name where it wants a name.
    """

    pattern: str
    handler: str
    methods: tuple[str, ...]
    path: str

    @property
    def is_websocket(self) -> bool:
        """Whether the handler speaks WebSocket."""
        return "socket" in self.handler.lower()


def sample(pattern: str, name: str) -> str:
    """Return a path that a pattern matches.

    Args:
        name: Stands where the pattern wants one part of a path.
    """
    path = pattern
    for piece, text in SAMPLES:
        path = path.replace(piece, text)
    path = path.replace("([^/]+)", name).replace("(?P<user_name>[^/]+)", name)
    path = GROUP.sub("x", WORDS.sub(r"\1", path))
    path = path.replace(".*", "x").replace("\\", "").removesuffix("$")
    path = path.removesuffix("/?").replace("[^/]+", "x")
    if not path.startswith("/"):
        path = f"/{path}"
    if not re.fullmatch(pattern.removesuffix("$"), path):
        raise ValueError(f"{path} is no path of {pattern}: add what stands for it to SAMPLES")
    return path


def hub_routes(victim: str) -> list[Route]:
    """Return the routes of the hub that the running portal's settings make."""
    return _routes(_run([_python("hub"), str(PROBES / "hub.py"), str(SETTINGS)]), victim)


def session_routes(user: str, pid: int, base_url: str = "/") -> list[Route]:
    """Return the routes of a user's running session, whose server has this process id."""
    items = Path(f"/proc/{pid}/environ").read_text().split("\0")
    environment = dict(item.split("=", 1) for item in items if "=" in item)
    account = pwd.getpwnam(user)
    # What the session has started for its home may still write there when it ends.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        # Nothing of what a session prepares is to come into the user's own home.
        os.chown(home, account.pw_uid, account.pw_gid)
        environment |= {"HOME": home, "TMPDIR": home, "SLURM_TMPDIR": home}
        argv = [_python("server"), "-c", _inlined("session.py")]
        return _routes(_run(argv, environment, home, account), user, f"{base_url}user/{user}")


def _inlined(name: str) -> str:
    """Return a probe as one text: the user's account may not read the checkout."""
    routes = (PROBES / "routes.py").read_text()
    probe = (PROBES / name).read_text()
    future = "from __future__ import annotations\n"
    insert = "sys.path.insert(0, str(Path(__file__).parent))\nfrom routes import routes_of\n"
    return future + (routes + probe.replace(insert, "")).replace(future, "")


def _python(environment: str) -> str:
    return str(ENVIRONMENTS / environment / "bin/python")


def _run(
    argv: list[str],
    environment: Mapping[str, str] | None = None,
    folder: str = "/",
    account: pwd.struct_passwd | None = None,
) -> list[dict[str, Any]]:
    done = subprocess.run(
        argv,
        env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})},
        cwd=folder,
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
        capture_output=True,
        text=True,
        timeout=PROBE_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{argv[0]} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _routes(found: list[dict[str, Any]], name: str, prefix: str = "") -> list[Route]:
    routes = {
        Route(
            pattern=TOOL.sub("/portal/tools/KEY/NAME", one["pattern"].removeprefix(prefix)),
            handler=one["handler"],
            methods=tuple(one["methods"]),
            path=sample(one["pattern"], name),
        )
        for one in found
    }
    return sorted(routes, key=lambda route: (route.pattern, route.handler))
