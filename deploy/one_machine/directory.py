"""slapd with the demo users: passwords only over StartTLS, changes only by local root."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import quote

from deploy.common.command import run
from deploy.common.errors import CommandError
from deploy.common.files import ensure_file, ensure_folder, ensure_secret
from deploy.one_machine import certificates
from deploy.one_machine.certificates import ensure_certificates
from deploy.one_machine.layout import LDAP_CA, MARK, SLAPD_DIR, STATE_DIR
from deploy.one_machine.process import Daemon, ensure_started, stop, wait_ready
from deploy.one_machine.users import DEMO_USERS, GROUP, GROUP_ID, User

BASE = "dc=portal,dc=example"
PEOPLE = f"ou=people,{BASE}"
GROUPS = f"ou=groups,{BASE}"
# Reads what strangers may not; sees whether somebody has a password, and not which.
READER = f"cn=reader,{BASE}"
ADDRESS = "ldap://127.0.0.1:389"
ACCOUNT = "openldap"
CONFIG = SLAPD_DIR / "slapd.conf"
DATA_DIR = SLAPD_DIR / "data"
READER_PASSWORD_FILE = STATE_DIR / "ldap-reader-password"
READER_PASSWORD_BYTES = 24
SOCKET_ADDRESS = f"ldapi://{quote(f'{SLAPD_DIR}/ldapi', safe='')}"
MODULES_DIR = Path("/usr/lib/ldap")
# In this order: each uses attributes of those before it.
SCHEMAS = ("core", "cosine", "nis", "inetorgperson")
START_TIMEOUT_S = 20
# ldapadd(1): the entry exists already; ldapwhoami(1): wrong password or no such entry.
ALREADY_EXISTS = 68
INVALID_CREDENTIALS = 49

DAEMON = Daemon(
    name="slapd",
    argv=(
        "slapd",
        *("-f", str(CONFIG)),
        *("-h", f"{ADDRESS}/ {SOCKET_ADDRESS}/"),
        # With a debug level, even of nothing, slapd stays in the foreground.
        *("-u", ACCOUNT, "-g", ACCOUNT, "-d", "none"),
    ),
)


def render_slapd_conf() -> str:
    """Return slapd.conf.

    Source:
        slapd.conf(5), slapd.access(5), OpenLDAP 2.5.
    """
    schemas = "\n".join(f"include /etc/ldap/schema/{name}.schema" for name in SCHEMAS)
    # The kernel says over the local socket who asks: root needs no password.
    root = "gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth"
    return f"""\
# {MARK}
{schemas}
modulepath {MODULES_DIR}
moduleload back_mdb
moduleload argon2
TLSCACertificateFile {certificates.CA_CERTIFICATE}
TLSCertificateFile {certificates.SERVER_CERTIFICATE}
TLSCertificateKeyFile {certificates.SERVER_KEY}
TLSVerifyClient never
security simple_bind=128
idletimeout 300
database mdb
suffix "{BASE}"
rootdn "{root}"
directory {DATA_DIR}
maxsize 67108864
index objectClass eq
index uid,uidNumber,gidNumber,memberUid,cn eq
access to attrs=userPassword
    by dn.exact="{READER}" =sd
    by anonymous auth
    by * none
access to *
    by users read
    by * none
"""


def render_entries() -> str:
    """Return the LDIF of the whole tree, without passwords."""
    members = "\n".join(f"memberUid: {user.name}" for user in DEMO_USERS)
    tree = f"""\
dn: {BASE}
objectClass: dcObject
objectClass: organization
dc: portal
o: Data Scientist Portal

dn: {PEOPLE}
objectClass: organizationalUnit
ou: people

dn: {GROUPS}
objectClass: organizationalUnit
ou: groups

dn: {READER}
objectClass: person
cn: reader
sn: reader

dn: cn={GROUP},{GROUPS}
objectClass: posixGroup
cn: {GROUP}
gidNumber: {GROUP_ID}
{members}
"""
    return "\n".join([tree, *(_user_entry(user) for user in DEMO_USERS)])


def user_dn(user: User) -> str:
    """Return the DN of a user's entry."""
    return f"uid={user.name},{PEOPLE}"


def _user_entry(user: User) -> str:
    return f"""\
dn: {user_dn(user)}
objectClass: inetOrgPerson
objectClass: posixAccount
uid: {user.name}
cn: {user.name}
sn: {user.name}
gecos: Demo user {user.name}
uidNumber: {user.user_id}
gidNumber: {GROUP_ID}
homeDirectory: {user.home}
loginShell: /bin/bash
"""


def ensure_slapd() -> str:
    """Configure slapd, start it and add the tree."""
    ensure_folder(SLAPD_DIR, user=ACCOUNT)
    ensure_folder(DATA_DIR, mode=0o700, user=ACCOUNT)
    has_new_certificate = ensure_certificates(ACCOUNT)
    if ensure_file(CONFIG, render_slapd_conf(), mode=0o640, group=ACCOUNT) or has_new_certificate:
        # It reads both only when it starts.
        stop(DAEMON)
    started = ensure_started(DAEMON)
    wait_ready("slapd", is_answering, timeout_s=START_TIMEOUT_S)
    try:
        # With -c it continues after entries that exist already.
        _as_root("ldapadd", "-c", stdin=render_entries())
    except CommandError as error:
        if error.exit_code != ALREADY_EXISTS:
            raise
    return "started" if started else "runs"


def is_answering() -> bool:
    """Return whether slapd answers over StartTLS with a certificate that the authority signed."""
    try:
        _over_tls("ldapwhoami", "-x")
    except CommandError:
        return False
    return True


def ensure_passwords(password: str) -> str:
    """Give every demo user the same one-line password."""
    changed = [user for user in DEMO_USERS if _set_password(user_dn(user), password)]
    return f"set for {', '.join(user.name for user in changed)}" if changed else "unchanged"


def ensure_reader() -> str:
    """Set the password of `READER`."""
    return "set" if _set_password(READER, reader_password()) else "unchanged"


def reader_password() -> str:
    """Return the password of `READER`, created at the first call."""
    return ensure_secret(READER_PASSWORD_FILE, secrets.token_urlsafe(READER_PASSWORD_BYTES))


def hash_password(password: str) -> str:
    """Return the Argon2 hash of a one-line password, in the form of userPassword."""
    argon2 = ("-o", f"module-path={MODULES_DIR}", "-o", "module-load=argon2", "-h", "{ARGON2}")
    # No newline at the end: it would become part of the password.
    return run(["slappasswd", *argon2, "-T", "/dev/stdin"], stdin=password).strip()


def _set_password(entry: str, password: str) -> bool:
    # A new hash would differ each time, and a second run should change nothing.
    if _is_password(entry, password):
        return False
    change = "changetype: modify\nreplace: userPassword"
    hashed = hash_password(password)
    _as_root("ldapmodify", stdin=f"dn: {entry}\n{change}\nuserPassword: {hashed}\n")
    return True


def _is_password(entry: str, password: str) -> bool:
    try:
        _over_tls("ldapwhoami", "-x", "-D", entry, "-y", "/dev/stdin", stdin=password)
    except CommandError as error:
        if error.exit_code != INVALID_CREDENTIALS:
            raise
        return False
    return True


def _over_tls(program: str, *words: str, stdin: str = "") -> str:
    verified = {"LDAPTLS_CACERT": str(LDAP_CA), "LDAPTLS_REQCERT": "demand"}
    # -ZZ fails without TLS; -Z would continue.
    return run([program, "-ZZ", "-H", ADDRESS, *words], stdin=stdin, environment=verified)


def _as_root(program: str, *words: str, stdin: str) -> str:
    return run([program, "-Q", "-Y", "EXTERNAL", "-H", SOCKET_ADDRESS, *words], stdin=stdin)
