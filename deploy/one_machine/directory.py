"""slapd with the demo users: passwords only over StartTLS, changes only by local root."""

import secrets
from pathlib import Path
from urllib.parse import quote

from deploy.common.command import run
from deploy.common.errors import CommandError
from deploy.common.files import ensure_file, ensure_folder, ensure_secret
from deploy.one_machine.certificate import CERTIFICATE, KEY, ensure_certificate
from deploy.one_machine.layout import LDAP_CA, SLAPD_DIR, STATE_DIR, render
from deploy.one_machine.supervisor import ensure_running
from deploy.one_machine.users import DEMO_USERS, GROUP, GROUP_ID, User

BASE = "dc=portal,dc=example"
PEOPLE = f"ou=people,{BASE}"
GROUPS = f"ou=groups,{BASE}"
# Reads what strangers may not; sees whether somebody has a password, and not which.
READER = f"cn=reader,{BASE}"
ADDRESS = "ldap://127.0.0.1:389"
ACCOUNT = "openldap"
CONFIG = SLAPD_DIR / "slapd.conf"
READER_PASSWORD_FILE = STATE_DIR / "ldap-reader-password"
READER_PASSWORD_BYTES = 24
SOCKET_ADDRESS = f"ldapi://{quote(f'{SLAPD_DIR}/ldapi', safe='')}"
MODULES_DIR = Path("/usr/lib/ldap")
START_TIMEOUT_S = 20
# ldapadd(1): the entry exists already; ldapwhoami(1): wrong password or no such entry.
ALREADY_EXISTS = 68
INVALID_CREDENTIALS = 49


def render_slapd_conf() -> str:
    """Return slapd.conf."""
    return render(
        "slapd.conf",
        BASE=BASE,
        READER=READER,
        CERTIFICATE=CERTIFICATE,
        KEY=KEY,
    )


def render_entries() -> str:
    """Return the LDIF of the whole tree, without passwords."""
    members = "\n".join(f"memberUid: {user.name}" for user in DEMO_USERS)
    named: dict[str, object] = {"BASE": BASE, "PEOPLE": PEOPLE, "GROUPS": GROUPS, "READER": READER}
    named |= {"GROUP": GROUP, "GROUP_ID": GROUP_ID, "MEMBERS": members}
    entries = [
        render("user.ldif", NAME=user.name, USER_ID=user.user_id, HOME=user.home, **named)
        for user in DEMO_USERS
    ]
    return render("tree.ldif", **named) + "".join(entries)


def user_dn(user: User) -> str:
    """Return the DN of a user's entry."""
    return f"uid={user.name},{PEOPLE}"


def ensure_slapd() -> str:
    """Configure slapd, start it and add the tree."""
    ensure_folder(SLAPD_DIR, user=ACCOUNT)
    ensure_folder(SLAPD_DIR / "data", mode=0o700, user=ACCOUNT)
    ensure_certificate(ACCOUNT)
    ensure_file(CONFIG, render_slapd_conf(), mode=0o640, group=ACCOUNT)
    outcome = ensure_running(
        "slapd",
        is_answering,
        timeout_s=START_TIMEOUT_S,
        read_at_start=[CONFIG, CERTIFICATE],
        ADDRESS=ADDRESS,
        SOCKET_ADDRESS=SOCKET_ADDRESS,
    )
    try:
        # With -c it continues after entries that exist already.
        _as_root("ldapadd", "-c", stdin=render_entries())
    except CommandError as error:
        if error.exit_code != ALREADY_EXISTS:
            raise
    return outcome


def is_answering() -> bool:
    """Return whether slapd answers over StartTLS with our certificate."""
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
