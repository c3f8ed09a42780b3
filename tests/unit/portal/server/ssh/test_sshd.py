"""What sshd is told for a connection."""

from pathlib import Path

import pytest

from portal.server.base.commands import terminal_shell
from portal.server.ssh.sshd import (
    SshError,
    check_public_key,
    describe_login,
    find_sshd,
    sshd_config,
)

KEY = "ssh-ed25519 " + "A" * 68


def config(**changes: object) -> list[str]:
    values = {
        "host_key": Path("/dev/shm/a/host_key"),
        "authorized_keys": Path("/dev/shm/a/b/authorized_keys"),
        "login_argv": ("/opt/my python", "-IS", "forced_command.py", "login.json"),
        "sftp_server": "/usr/lib/openssh/sftp-server",
        "forwards_ports": True,
        **changes,
    }
    return sshd_config(**values).splitlines()  # type: ignore[arg-type]


def test_only_the_key_of_the_connection_lets_in() -> None:
    lines = config(authorized_keys=Path("/tmp/a %h/keys"))

    assert 'AuthorizedKeysFile "/tmp/a %%h/keys"' in lines
    assert "AuthenticationMethods publickey" in lines
    assert "PasswordAuthentication no" in lines
    assert "KbdInteractiveAuthentication no" in lines


def test_every_login_gets_the_environment_of_the_session() -> None:
    assert "ForceCommand '/opt/my python' -IS forced_command.py login.json" in config()


def test_a_port_on_the_node_is_never_opened_and_none_is_reached_if_the_site_says_so() -> None:
    assert "AllowTcpForwarding local" in config()
    assert "AllowTcpForwarding no" in config(forwards_ports=False)
    assert "AllowStreamLocalForwarding yes" in config(forwards_ports=False)


def test_a_node_without_sftp_still_has_shells() -> None:
    assert not [line for line in config(sftp_server="") if line.startswith("Subsystem")]


def test_a_node_without_sshd_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(SshError, match=r"no sshd.*install openssh-server"):
        find_sshd(str(tmp_path))


def test_a_public_key_loses_its_comment() -> None:
    assert check_public_key(f"{KEY} ada@laptop") == KEY


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        "ssh-ed25519",
        f'command="x" {KEY}',
        f"{KEY}\n{KEY}",
        f"restrict,pty {KEY}",
        "ssh-ed25519 AAAA",
    ],
)
def test_what_is_no_key_is_refused(text: object) -> None:
    with pytest.raises(SshError, match="No public key"):
        check_public_key(text)


def test_a_login_has_the_variables_of_the_session_without_its_tokens() -> None:
    environ = {"SHELL": "/bin/bash", "PATH": "/a", "JUPYTERHUB_API_TOKEN": "x", "HOME": "/home/a"}

    told = describe_login(environ, ends_s=7.0, terminals_dir=Path("/t"))

    assert told["environ"] == {"SHELL": "/bin/bash", "PATH": "/a", "HOME": "/home/a"}
    assert (told["shell"], told["ends_s"], told["terminals_dir"]) == ("/bin/bash", 7.0, "/t")
    # As terminals in the browser start it.
    assert told["terminal"] == terminal_shell("/bin/bash")


def test_another_shell_starts_as_a_login_shell() -> None:
    login = describe_login({"SHELL": "/bin/fish"}, ends_s=None, terminals_dir=Path("/t"))

    assert login["terminal"] == ["/bin/fish", "-l"]
