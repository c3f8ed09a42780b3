"""JupyterHub with batchspawner and ldapauthenticator, as their own guides set them up."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy.one_machine import directory
from deploy.one_machine.layout import LDAP_CA
from tests.lab.benchmarks.spawner.hubs import SUDOERS, Server, StockHub
from tests.support.private_hub import ACCOUNT

# Sessions of the same size as the portal's with one GPU; a form, so that users choose, too.
_CONFIG = """
import ssl
c.JupyterHub.authenticator_class = "ldapauthenticator.LDAPAuthenticator"
c.LDAPAuthenticator.server_address = "127.0.0.1"
c.LDAPAuthenticator.tls_strategy = "before_bind"
c.LDAPAuthenticator.tls_kwargs = {{
    "validate": ssl.CERT_REQUIRED,
    "ca_certs_file": "{ca}",
}}
c.LDAPAuthenticator.bind_dn_template = ["uid={{username}},{people}"]
c.LDAPAuthenticator.allow_all = True
c.SlurmSpawner.req_memory = "48G"
c.SlurmSpawner.req_nprocs = "8"
c.SlurmSpawner.req_gres = "gpu:1"
c.SlurmSpawner.req_runtime = "1:00:00"
# As long as the portal lets a job wait: with its 60 s the last ones of a rush would fail.
c.SlurmSpawner.start_timeout = 900
c.SlurmSpawner.options_form = (
    '<label>GPUs <input name="gpus" value="1"></label><label>Hours <input name="hours"></label>'
)
"""


class StockLdapHub(StockHub):
    """The hub that a site has who follows the guides."""

    def config_text(self, server: Path, traits: Mapping[str, Any]) -> str:
        return super().config_text(server, traits) + _CONFIG.format(
            ca=LDAP_CA, people=directory.PEOPLE
        )


@contextmanager
def stock_hub(users: Sequence[str]) -> Iterator[StockLdapHub]:
    """Run the hub, whose account may run Slurm's programs as these users, until the block ends."""
    programs = ", ".join(f"/usr/bin/{name}" for name in ("sbatch", "squeue", "scancel"))
    rule = f"{ACCOUNT} ALL=({', '.join(users)}) NOPASSWD:SETENV: {programs}"
    SUDOERS.write_text(f"Defaults:{ACCOUNT} !requiretty\n{rule}\n")
    os.chmod(SUDOERS, 0o440)
    hub = StockLdapHub()
    try:
        hub.serve(Server.STOCK)
        yield hub
    finally:
        hub.close()
        SUDOERS.unlink()
