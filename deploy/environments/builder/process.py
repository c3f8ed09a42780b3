"""Runs the builder's programs: clean environment, output into a log, readable errors."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from deploy.common.errors import DeployError
from deploy.environments.builder.package_sources import SETTING, package_sources

# The caller's own may begin with a conda environment.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# What pip, uv, npm and apt need to reach the registries. What chooses other Python packages than
# the locked ones is left out: settings of pip, and pip.conf.
KEPT_NAMES = frozenset(
    {
        *("HOME", "TMPDIR", "XDG_CONFIG_HOME", "NODE_EXTRA_CA_CERTS", SETTING),
        *("PIP_CERT", "PIP_CLIENT_CERT", "PIP_DEFAULT_TIMEOUT", "PIP_PROXY", "PIP_RETRIES"),
        *("UV_CACHE_DIR", "UV_HTTP_TIMEOUT"),
    }
)
KEPT_PREFIXES = ("SSL_", "NPM_CONFIG_", "npm_config_", "REQUESTS_CA_", "CURL_CA_")
KEPT_SUFFIXES = ("_proxy", "_PROXY")
# The authorities that the machine's administrator trusts, on Debian and on Red Hat.
SYSTEM_AUTHORITIES = (
    Path("/etc/ssl/certs/ca-certificates.crt"),
    Path("/etc/pki/tls/certs/ca-bundle.crt"),
)


def clean_environment(environ: Mapping[str, str] | None = None, /, **extra: str) -> dict[str, str]:
    """Return an environment without anything of the caller's Python or shell."""
    source = os.environ if environ is None else environ
    kept = {name: value for name, value in source.items() if _is_kept(name)}
    fixed = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    # As patient as for a package of 500 MB over a slow line; pip and uv give up much sooner.
    patient = {"HOME": "/root", "PIP_DEFAULT_TIMEOUT": "180", "UV_HTTP_TIMEOUT": "180"}
    trusted = _authorities_of_node(source)
    return {**patient, **trusted, **kept, **fixed, **package_sources(source).variables(), **extra}


def _authorities_of_node(environ: Mapping[str, str]) -> dict[str, str]:
    """Let npm trust what pip and uv trust: Node.js has authorities of its own."""
    files = [Path(environ["SSL_CERT_FILE"])] if environ.get("SSL_CERT_FILE") else SYSTEM_AUTHORITIES
    file = next((path for path in files if path.is_file()), None)
    return {"NODE_EXTRA_CA_CERTS": str(file)} if file else {}


def _is_kept(name: str) -> bool:
    return name in KEPT_NAMES or name.startswith(KEPT_PREFIXES) or name.endswith(KEPT_SUFFIXES)


def run(
    argv: Sequence[str | Path],
    *,
    log: IO[str],
    next_step: str = "",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a program to its end, with its output in the log.

    `env` is the whole environment; `clean_environment()` if None.
    """
    words = [str(word) for word in argv]
    # Flushed, because the program writes to the same file by itself.
    print("$", *words, file=log, flush=True)
    try:
        ended = subprocess.run(
            words,
            check=False,
            # A program that asks a question gets no answer instead of waiting for one for ever.
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=dict(clean_environment() if env is None else env),
        )
    except OSError as error:
        raise DeployError(
            f"{words[0]} could not be started: {error.strerror}.", next_step
        ) from error
    if ended.returncode != 0:
        command = " ".join(words[:3])
        raise DeployError(f"'{command} ...' ended with status {ended.returncode}.", next_step)


def read_output(argv: Sequence[str | Path], *, env: Mapping[str, str] | None = None) -> str | None:
    """Return a short program's output without surrounding blanks; None if it is missing or fails.

    `env` is the whole environment; `clean_environment()` if None.
    """
    try:
        ended = subprocess.run(
            [str(word) for word in argv],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
            env=dict(clean_environment() if env is None else env),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ended.stdout.strip()
