"""The foreign cluster's LDAP: another tree and schema, ldaps only, nothing for strangers."""

from __future__ import annotations

from tests.lab.foreign import layout
from tests.lab.foreign.layout import ADMITTED, BASE, PEOPLE, READER, USERS, User

SCHEMAS = ("core", "cosine", "nis")
DATA_DIR = layout.STATE_DIR / "ldap"
URI = f"ldaps://{layout.LDAP_HOST}:636"


def slapd_conf() -> str:
    """Return slapd.conf.

    Source: slapd.conf(5), slapd.access(5), OpenLDAP 2.5.
    """
    schemas = "\n".join(f"include /etc/ldap/schema/{name}.schema" for name in SCHEMAS)
    return f"""\
{schemas}
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile {layout.TLS_DIR}/ldap.pem
TLSCertificateKeyFile {layout.TLS_DIR}/ldap.key
security tls=1
database mdb
suffix "{BASE}"
directory {DATA_DIR}
maxsize 33554432
index objectClass,uid,uidNumber,gidNumber,memberUid,member eq
access to attrs=userPassword by anonymous auth by * none
access to * by users read by anonymous auth by * none
"""


def entries(password_hash: str, reader_hash: str) -> str:
    """Return the tree: accounts without inetOrgPerson, lists of full names beside UNIX groups."""
    admitted = "\n".join(f"member: {dn_of(user)}" for user in USERS if user.is_admitted)
    members = "\n".join(f"memberUid: {user.name}" for user in USERS)
    tree = f"""\
dn: {BASE}
objectClass: organization
o: institute

dn: {PEOPLE}
objectClass: organizationalUnit
ou: accounts

dn: ou=lists,{BASE}
objectClass: organizationalUnit
ou: lists

dn: ou=unix,{BASE}
objectClass: organizationalUnit
ou: unix

dn: {READER}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: reader
userPassword: {reader_hash}

dn: {ADMITTED}
objectClass: groupOfNames
cn: gpu-users
{admitted}

dn: cn={layout.UNIX_GROUP},ou=unix,{BASE}
objectClass: posixGroup
cn: {layout.UNIX_GROUP}
gidNumber: {layout.UNIX_GROUP_ID}
{members}
"""
    return "\n".join([tree, *(_user(user, password_hash) for user in USERS)])


def dn_of(user: User) -> str:
    """Return the full name of a user's entry."""
    return f"uid={user.name},{PEOPLE}"


def _user(user: User, password_hash: str) -> str:
    return f"""\
dn: {dn_of(user)}
objectClass: account
objectClass: posixAccount
uid: {user.name}
cn: {user.name}
uidNumber: {user.user_id}
gidNumber: {user.user_id}
homeDirectory: {user.home}
loginShell: /bin/bash
userPassword: {password_hash}

dn: cn={user.name},ou=unix,{BASE}
objectClass: posixGroup
cn: {user.name}
gidNumber: {user.user_id}
"""


def nslcd_conf(reader_password: str) -> str:
    """Return the configuration of the name service.

    Source: nslcd.conf(5) 0.9.12.
    """
    return f"""\
uid nslcd
gid nslcd
uri {URI}
base {BASE}
base passwd {PEOPLE}
base group ou=unix,{BASE}
binddn {READER}
bindpw {reader_password}
tls_reqcert demand
tls_cacertfile {layout.CA_CERTIFICATE}
bind_timelimit 3
timelimit 3
nss_min_uid 50000
"""
