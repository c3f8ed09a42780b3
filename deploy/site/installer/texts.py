"""Files of an installation other than units: configuration, log rotation, TLS front end."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from deploy.common.errors import DeployError
from deploy.site.installer.site import MARK, Site

EXAMPLE = Path(__file__).resolve().parents[1] / "portal.example.toml"

JUPYTERHUB_CONFIG = '''"""JupyterHub's configuration; the settings are in portal.toml beside it."""

from pathlib import Path

from portal.hub.apply import apply_settings
from portal.hub.settings.loader import load_settings

c = get_config()
apply_settings(c, load_settings(Path("/etc/data-scientist-portal/portal.toml")))

# Any option of JupyterHub and of the spawner can follow, for instance:
# c.SlurmGPUSpawner.req_options = "--constraint=v100"
'''

# copytruncate, because the services keep their logs open.
LOGROTATE = f"""# {MARK}
/var/log/data-scientist-portal/*.log {{
    weekly
    maxsize 100M
    rotate 8
    create 0600 root root
    compress
    delaycompress
    missingok
    notifempty
    copytruncate
}}
"""

NGINX = f"""# {MARK}
# An example: set server_name and the certificate, then link it into sites-enabled.
map $http_upgrade $connection_upgrade {{
    default upgrade;
    ''      close;
}}

server {{
    listen 443 ssl;
    server_name portal.example.com;
    ssl_certificate     /etc/ssl/certs/portal.pem;
    ssl_certificate_key /etc/ssl/private/portal.key;
    ssl_protocols TLSv1.2 TLSv1.3;
    # Browsers then ask for https themselves, for a year.
    add_header Strict-Transport-Security "max-age=31536000" always;

    # As long as the portal takes them; other services of the domain may have set many cookies.
    large_client_header_buffers 4 64k;
    # Notebooks are saved in one piece; kernels and terminals keep their connections for hours.
    client_max_body_size 512m;
    proxy_read_timeout 1d;
    proxy_send_timeout 1d;
    proxy_buffering off;

    proxy_http_version 1.1;
    # With the port: pages and websockets of another address than the browser's are refused.
    proxy_set_header Host $http_host;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $connection_upgrade;
    # What a browser sends under these names is dropped: who it is, is seen here.
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Host $host;
    proxy_set_header X-Forwarded-Port $server_port;
    proxy_set_header X-Forwarded-Proto https;
    proxy_set_header X-Real-IP $remote_addr;
    proxy_set_header X-Scheme https;
    proxy_set_header Forwarded "";

    location / {{
        # Else each piece of an upload would first be a file on this host.
        proxy_request_buffering off;
        proxy_pass http://127.0.0.1:8000;
    }}

    # The hub takes forms, no files. With base_url of [hub] it is below that: /jupyter/hub/.
    location /hub/ {{
        client_max_body_size 1m;
        proxy_pass http://127.0.0.1:8000;
    }}
}}

server {{
    listen 80;
    server_name portal.example.com;
    # If TLS is on another port than 443: https://$host:8443$request_uri
    return 301 https://$host$request_uri;
}}
"""


def first_settings(site: Site) -> str:
    """Return the commented example of portal.toml, with the paths of this installation."""
    shared = site.shared / "current"
    text = EXAMPLE.read_text(encoding="utf-8")
    for key, path in (
        ("server", shared / "environments/server"),
        ("tensorboard", shared / "environments/tensorboard"),
        ("templates", shared / "templates"),
        ("program", shared / "code-server/bin/code-server"),
    ):
        text, n_found = re.subn(rf'^# ({key} = )"/opt[^"]*"$', rf'\1"{path}"', text, flags=re.M)
        if n_found != 1:
            raise DeployError(
                f"{EXAMPLE} has {n_found} lines '# {key} = '; there has to be one.",
                next_step="Take the file from the release as it was.",
            )
    # What the example shows beside a default is another site's: its S3 store, its help desk.
    return re.sub(r"^(# (\w+) = .*\n)(?=\2 = )", r"\1# ", text, flags=re.M)


def slurm_variables(slurm_conf: Path | None) -> str:
    """Return the file of variables that systemd and sudo set for Slurm's programs.

    Source:
        systemd.exec(5), EnvironmentFile; sudoers(5) 1.9.13, env_file.
    """
    return f"# {MARK}\nSLURM_CONF={slurm_conf}\n"


def first_secrets() -> str:
    """Return a new secret of the hub, as systemd reads it."""
    return f"JUPYTERHUB_CRYPT_KEY={secrets.token_hex(32)}\n"
