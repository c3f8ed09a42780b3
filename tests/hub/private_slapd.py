"""Real LDAP servers of our own for tests, and servers that misbehave as real ones do."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.eventually import eventually

BASE = "dc=portal,dc=example"
PASSWORD = "right horse"
READER = f"cn=reader,{BASE}"
ROOT = f"cn=root,{BASE}"
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
SLAPD = shutil.which("slapd", path="/usr/sbin:/usr/bin") or ""

CONFIG = """\
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload ppolicy
pidfile {folder}/slapd.pid
TLSCACertificateFile {ca}
TLSCertificateFile {certificate}
TLSCertificateKeyFile {key}
security tls=1
database mdb
suffix "{base}"
rootdn "{root}"
rootpw "{password}"
directory {folder}/db
overlay ppolicy
ppolicy_default "cn=policy,{base}"
ppolicy_use_lockout
access to attrs=userPassword by dn.exact="{reader}" =sd by anonymous auth by * none
access to * by users read
"""

READER_ENTRY = """
dn: {reader}
objectClass: person
cn: reader
sn: reader
userPassword: {password}
"""

ENTRIES = """\
dn: {base}
objectClass: dcObject
objectClass: organization
o: Portal
dc: portal

dn: ou=people,{base}
objectClass: organizationalUnit
ou: people

dn: ou=groups,{base}
objectClass: organizationalUnit
ou: groups

dn: cn=policy,{base}
objectClass: person
objectClass: pwdPolicy
cn: policy
sn: policy
pwdAttribute: userPassword
pwdMaxAge: 31536000
pwdLockout: TRUE

dn: ou=students,{base}
objectClass: organizationalUnit
ou: students

dn: uid=eve,ou=students,{base}
objectClass: inetOrgPerson
uid: eve
cn: eve
sn: eve
userPassword: {password}

dn: uid=late,ou=people,{base}
objectClass: inetOrgPerson
uid: late
cn: late
sn: late
userPassword: {password}
pwdChangedTime: 20200101000000Z

dn: uid=locked,ou=people,{base}
objectClass: inetOrgPerson
uid: locked
cn: locked
sn: locked
userPassword: {password}
pwdAccountLockedTime: 000001010000Z

dn: cn=readers,ou=groups,{base}
objectClass: posixGroup
cn: readers
gidNumber: 20001
memberUid: ada
"""

PERSON = """
dn: uid={name},ou=people,{base}
objectClass: inetOrgPerson
uid: {name}
cn: {name}
sn: {name}
mail: {name}.of.ldap@example.org
userPassword: {password}
"""


def free_port() -> int:
    """Return a TCP port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass(frozen=True)
class Authority:
    """A certificate authority of our own."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / "ca.pem"

    @classmethod
    def create(cls, folder: Path) -> Authority:
        folder.mkdir()
        self = cls(folder)
        # Without it Python 3.13 trusts no authority.
        usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
        _openssl(
            *("req", "-x509", "-days", "2", *NEW_KEY, "-subj", "/CN=test authority", *usage),
            *("-keyout", folder / "ca.key", "-out", self.certificate),
        )
        return self

    def issue(self, name: str, alternative_names: str) -> tuple[Path, Path]:
        """Return a certificate and its key for a server."""
        certificate, key, request = (self.folder / f"{name}.{end}" for end in ("pem", "key", "csr"))
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternative_names}\nauthorityKeyIdentifier=keyid\n")
        _openssl(
            *("req", *NEW_KEY, "-subj", f"/CN={name}", "-keyout", key, "-out", request),
        )
        _openssl(
            *("x509", "-req", "-days", "2", "-in", request, "-CA", self.certificate),
            *("-CAkey", self.folder / "ca.key", "-CAcreateserial"),
            *("-extfile", extensions, "-out", certificate),
        )
        return certificate, key


@contextlib.contextmanager
def running_slapd(
    folder: Path,
    authority: Authority,
    users: list[str],
    *,
    alternative_names: str = "IP:127.0.0.1,DNS:localhost",
    port: int = 0,
) -> Iterator[tuple[int, int]]:
    """Run slapd with these users; yield its ports for StartTLS and for ldaps."""
    (folder / "db").mkdir(parents=True)
    certificate, key = authority.issue(folder.name, alternative_names)
    config = folder / "slapd.conf"
    config.write_text(
        CONFIG.format(
            folder=folder,
            ca=authority.certificate,
            certificate=certificate,
            key=key,
            base=BASE,
            reader=READER,
            root=ROOT,
            password=PASSWORD,
        )
    )
    people = "".join(PERSON.format(name=u, base=BASE, password=PASSWORD) for u in users)
    subprocess.run(
        [SLAPD, "-T", "add", "-f", config],
        input=ENTRIES.format(base=BASE, password=PASSWORD)
        + READER_ENTRY.format(reader=READER, password=PASSWORD)
        + people,
        text=True,
        check=True,
        capture_output=True,
    )
    port, tls_port = port or free_port(), free_port()
    urls = f"ldap://127.0.0.1:{port}/ ldaps://127.0.0.1:{tls_port}/"
    process = subprocess.Popen([SLAPD, "-f", config, "-h", urls, "-d", "0"])
    try:
        eventually(
            lambda: socket.create_connection(("127.0.0.1", port), 1).close() or True, timeout_s=10
        )
        yield port, tls_port
    finally:
        process.terminate()
        process.wait(10)


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """Listen on a port, take connections and never say a word; yield the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    taken: list[socket.socket] = []

    def take() -> None:
        with contextlib.suppress(OSError):
            while True:
                taken.append(listener.accept()[0])

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in taken:
            connection.close()


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
