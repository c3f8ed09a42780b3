"""The recipe for RStudio, with a stand-in for RStudio Server, which no registry has."""

import os
import stat
import subprocess
from pathlib import Path

PROGRAM = Path(__file__).parents[5] / "deploy/site/tools/rstudio"
# Listens as RStudio Server is asked to; ends with its options.
RSERVER = r"""#!/usr/bin/python3
import socket, sys
options = dict(word[2:].split("=", 1) for word in sys.argv[1:])
socket.socket(socket.AF_UNIX).bind(options["www-socket"])
print("\n".join(sys.argv[1:]))
"""


def test_it_listens_on_the_socket_alone_and_keeps_its_files_from_others(tmp_path: Path) -> None:
    rserver = tmp_path / "rserver"
    rserver.write_text(RSERVER)
    rserver.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PORTAL_TOOL_PREFIX": "/user/ada/t"}

    said = subprocess.run(
        [PROGRAM, tmp_path / "socket"], env=environment, capture_output=True, text=True, check=True
    ).stdout

    options = dict(word[2:].split("=", 1) for word in said.splitlines())
    assert (tmp_path / "socket").is_socket()
    assert options["www-root-path"] == "/user/ada/t"
    assert not any("port" in name or "address" in name for name in options)
    own = Path(options["server-data-dir"]).parent
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    for option in ("server-pid-file", "database-config-file", "secure-cookie-key-file"):
        assert Path(options[option]).parent == own
