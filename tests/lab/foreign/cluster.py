"""Bring up the foreign cluster: python3 -m tests.lab.foreign.cluster, as root of that machine.

It knows nothing of deploy/: what it makes is what an administrator has before the portal comes.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.lab.foreign import directory, layout, slurm
from tests.lab.foreign.layout import NODES, USERS, Node

START_TIMEOUT_S = 60
HERE = Path(__file__).parent
NSSWITCH = "passwd: files ldap\ngroup: files ldap\nshadow: files\nhosts: files dns\n"


def main() -> None:
    """Bring it up."""
    socket.sethostname(layout.HEAD)
    make_hosts()
    make_network()
    # The database takes longest; the rest is made beside it.
    database = threading.Thread(target=start_database)
    database.start()
    make_certificates()
    start_directory()
    mount_shares()
    start_munge()
    database.join()
    start_controllers()
    for node in NODES:
        start_node(node)
    ask = ("sinfo", "-h", "-N", "-o", "%T")
    until("the nodes take jobs", lambda: set(output(*ask).split()) == {"idle"})


def make_hosts() -> None:
    """Let all know each other, and logins know where Slurm's configuration is."""
    names = [f"{layout.HEAD_ADDRESS} {layout.HEAD} {layout.LDAP_HOST} {layout.PORTAL_HOST}"]
    names += [f"{node.address} {node.name}" for node in NODES]
    Path("/etc/hosts").write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
    Path("/etc/environment").write_text(f"SLURM_CONF={layout.SLURM_CONF}\n")
    os.environ["SLURM_CONF"] = str(layout.SLURM_CONF)
    for path in (layout.SLURM_DIR, layout.LOG_DIR, layout.TLS_DIR, layout.SOFTWARE_DIR):
        path.mkdir(parents=True, exist_ok=True)
    own(layout.LOG_DIR, "slurm")
    own(layout.STATE_DIR / "slurmctld", "slurm")
    own(layout.STATE_DIR, "slurm")


def make_network() -> None:
    """Make a switch, and a cable to each node."""
    run("ip", "link", "add", "switch0", "type", "bridge")
    run("ip", "address", "add", f"{layout.HEAD_ADDRESS}/{layout.PREFIX_LENGTH}", "dev", "switch0")
    run("ip", "link", "set", "switch0", "up")
    for node in NODES:
        run("ip", "netns", "add", node.name)
        cable = ("type", "veth", "peer", "name", "eth0", "netns", node.name)
        run("ip", "link", "add", f"to-{node.name}", *cable)
        run("ip", "link", "set", f"to-{node.name}", "master", "switch0", "up")
        inside = ("ip", "-n", node.name)
        run(*inside, "address", "add", f"{node.address}/{layout.PREFIX_LENGTH}", "dev", "eth0")
        run(*inside, "link", "set", "lo", "up")
        run(*inside, "link", "set", "eth0", "up")


def make_certificates() -> None:
    """Make the institute's authority, and certificates of its LDAP server and of the portal."""
    new = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "90")
    ca_key = str(layout.TLS_DIR / "ca.key")
    ca = (*new, "-subj", "/O=Institute/CN=Authority", "-keyout", ca_key)
    run(*ca, "-addext", "keyUsage=critical,keyCertSign", "-out", str(layout.CA_CERTIFICATE))
    for name, host in (("ldap", layout.LDAP_HOST), ("portal", layout.PORTAL_HOST)):
        signer = ("-CA", str(layout.CA_CERTIFICATE), "-CAkey", ca_key)
        extensions = ("subjectAltName=DNS:" + host, "basicConstraints=critical,CA:FALSE")
        words = [word for text in extensions for word in ("-addext", text)]
        files = ("-keyout", f"{layout.TLS_DIR}/{name}.key", "-out", f"{layout.TLS_DIR}/{name}.pem")
        run(*new, "-subj", f"/CN={host}", *signer, *words, *files)
    own(layout.TLS_DIR / "ldap.key", "openldap")
    # As on every machine of the institute.
    trusted = Path("/usr/local/share/ca-certificates/institute.crt")
    write(trusted, layout.CA_CERTIFICATE.read_text())
    run("update-ca-certificates")


def start_directory() -> None:
    """Start LDAP and the name service that asks it."""
    password, reader = secrets.token_urlsafe(12), secrets.token_urlsafe(12)
    write(layout.password_file(), password, mode=0o600)
    conf = layout.ROOT_DIR / "etc/slapd.conf"
    write(conf, directory.slapd_conf())
    own(directory.DATA_DIR, "openldap")
    hashes = [output("slappasswd", "-s", word).strip() for word in (password, reader)]
    run("slapadd", "-q", "-f", str(conf), stdin=directory.entries(*hashes))
    own(directory.DATA_DIR, "openldap")
    accounts = ("-u", "openldap", "-g", "openldap")
    start("slapd", "slapd", "-f", str(conf), "-h", "ldaps://", *accounts, "-d", "none")
    write(Path("/etc/nslcd.conf"), directory.nslcd_conf(reader), mode=0o600)
    write(Path("/etc/nsswitch.conf"), NSSWITCH)
    own(Path("/run/nslcd"), "nslcd")
    until("slapd listens", lambda: is_heard(layout.LDAP_HOST, 636))
    start("nslcd", "nslcd", "--nofork")
    until("users are known", lambda: output("getent", "passwd", "ada", "grace").count("\n") == 2)


def mount_shares() -> None:
    """Export homes and data, and mount them with root squashed."""
    for exported, mount_point in layout.SHARES:
        Path(exported).mkdir(parents=True)
        Path(mount_point).mkdir(parents=True)
    for user in USERS:
        home = Path("/export/home", user.name)
        home.mkdir(mode=0o700)
        os.chown(home, user.user_id, user.user_id)
    for name in ("projects", "datasets"):
        path = Path("/export/data", name)
        path.mkdir()
        os.chown(path, USERS[0].user_id, layout.UNIX_GROUP_ID)
        path.chmod(0o2775)
    if not Path("/dev/fuse").exists():
        # Without FUSE they are plain folders, in which root is root.
        for exported, mount_point in layout.SHARES:
            run("mount", "--bind", exported, mount_point)
        return
    for exported, mount_point in layout.SHARES:
        server = str(HERE / "shares.py")
        start(f"share{mount_point.replace('/', '-')}", server, exported, mount_point, python=True)
        until(f"{mount_point} is mounted", lambda path=mount_point: os.path.ismount(path))


def start_munge() -> None:
    """Start munge with a socket of its own."""
    own(layout.MUNGE_DIR, "munge")
    key = layout.ROOT_DIR / "etc/munge.key"
    write(key, secrets.token_hex(64), mode=0o400)
    own(key, "munge")
    files = {"socket": layout.MUNGE_SOCKET, "key-file": key}
    files |= {f"{name}-file": layout.MUNGE_DIR / name for name in ("pid", "seed")}
    start("munged", "munged", "-F", *(f"--{k}={v}" for k, v in files.items()), user="munge")
    until("munge answers", lambda: succeeds("munge", "-n", f"--socket={layout.MUNGE_SOCKET}"))


def start_database() -> None:
    """Start the database of Slurm's accounting."""
    own(layout.DATABASE_DIR, "slurm")
    data = f"--datadir={layout.DATABASE_DIR}/data"
    socket_only = ("--auth-root-authentication-method=socket", "--auth-root-socket-user=slurm")
    # The folder's owner makes the tables, and nobody else may connect.
    install = ("mariadb-install-db", "--no-defaults", data, *socket_only, "--skip-test-db")
    run("setpriv", "--reuid=slurm", "--regid=slurm", "--clear-groups", *install)
    files = (f"--socket={layout.DATABASE_SOCKET}", f"--pid-file={layout.DATABASE_DIR}/pid")
    sizes = ("--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900")
    words = ("mariadbd", "--no-defaults", data, *files, "--skip-networking", *sizes)
    start("mariadb", *words, user="slurm")
    until("the database answers", layout.DATABASE_SOCKET.exists)


def start_controllers() -> None:
    """Start Slurm's daemons of the head, and let the users submit."""
    texts = {
        "slurm.conf": slurm.slurm_conf(),
        "gres.conf": slurm.gres_conf(),
        "cgroup.conf": slurm.cgroup_conf(),
    }
    for name, text in texts.items():
        write(layout.SLURM_DIR / name, text)
    write(layout.SLURM_DIR / "slurmdbd.conf", slurm.slurmdbd_conf(), mode=0o600)
    own(layout.SLURM_DIR / "slurmdbd.conf", "slurm")
    start("slurmdbd", "slurmdbd", "-D", MYSQL_UNIX_PORT=str(layout.DATABASE_SOCKET))
    until("slurmdbd answers", lambda: succeeds("sacctmgr", "-n", "list", "cluster"))
    for words in (
        ("cluster", layout.CLUSTER_NAME),
        ("account", "physics", "description=Physics"),
        *(("user", user.name, "account=physics") for user in USERS),
    ):
        run("sacctmgr", "-i", "add", *words)
    start("slurmctld", "slurmctld", "-D")
    until("slurmctld answers", lambda: "is UP" in output("scontrol", "ping"))


def start_node(node: Node) -> None:
    """Start a compute node: namespaces with a slurmd."""
    for _, path in slurm.gpu_files(node):
        write(Path(path), "")
    (layout.STATE_DIR / node.name).mkdir()
    namespaces = ("unshare", "--uts", "--mount", "--propagation=slave", "--pid", "--fork")
    inside = ("ip", "netns", "exec", node.name, *namespaces, "--kill-child")
    start(node.name, *inside, "/usr/bin/python3", "-I", str(HERE / "node.py"), node.name)


def start(name: str, *argv: str, user: str = "root", python: bool = False, **extra: str) -> None:
    """Start a daemon; it ends with the machine."""
    account = pwd.getpwnam(user)
    words = ["/usr/bin/python3", "-I", *argv] if python else list(argv)
    with (layout.LOG_DIR / f"{name}.out").open("wb") as log:
        subprocess.Popen(
            [shutil.which(words[0]) or words[0], *words[1:]],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env={**os.environ, **extra},
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=[],
            start_new_session=True,
        )


def own(path: Path, user: str) -> None:
    """Give a folder with its files, or a file, to an account; make the folder if need be."""
    if not path.exists():
        path.mkdir(parents=True)
    for one in (path, *(path.iterdir() if path.is_dir() else ())):
        shutil.chown(one, user, pwd.getpwnam(user).pw_gid)


def write(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def is_heard(host: str, port: int) -> bool:
    """Return whether something listens."""
    with socket.socket() as client:
        return client.connect_ex((host, port)) == 0


def run(*argv: str, stdin: str = "") -> str:
    """Run a program to its end; raise with what it said where it fails."""
    done = subprocess.run(
        argv, input=stdin, capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: {done.stdout}{done.stderr}")
    return done.stdout


def output(*argv: str) -> str:
    """Return what a program prints, also where it fails."""
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False).stdout


def succeeds(*argv: str) -> bool:
    """Return whether a program ends with status 0."""
    return subprocess.run(argv, capture_output=True, timeout=60, check=False).returncode == 0


def until(what: str, is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + START_TIMEOUT_S
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"this did not happen in {START_TIMEOUT_S} s: {what}")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
