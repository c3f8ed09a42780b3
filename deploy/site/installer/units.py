"""The systemd units: proxy, hub, culler and backup."""

from __future__ import annotations

from deploy.site.installer.site import MARK

PREFIX = "/opt/data-scientist-portal/current/environments/hub/bin"
SETTINGS_DIR = "/etc/data-scientist-portal"
LOG_DIR = "/var/log/data-scientist-portal"
# Those of the services below. systemd makes a missing one readable for everybody.
LOGS = ("proxy.log", "hub.log", "culler.log")
STATE_DIR = "/var/lib/data-scientist-portal/hub"


def render_units(account: str) -> dict[str, str]:
    """Return the text of each unit, by file name.

    Source:
        systemd.unit(5), systemd.service(5), systemd.timer(5), systemd 252.
    """
    return {
        "dsportal-proxy.service": _service(
            "Data Scientist Portal: proxy",
            account,
            name="proxy",
            command=f"{PREFIX}/dsportal run proxy",
            # Users' open notebooks go through it: it neither starts nor stops with the hub.
            unit=("After=network-online.target", "Wants=network-online.target"),
            lines=(
                # The proxy's exit status after SIGTERM.
                "SuccessExitStatus=2",
                "NoNewPrivileges=yes",
                "ProtectHome=yes",
                "PrivateDevices=yes",
            ),
            # Without the proxy nobody reaches a session: it comes back even after an orderly end.
            restart="always",
        ),
        "dsportal-hub.service": _service(
            "Data Scientist Portal: hub",
            account,
            name="hub",
            command=f"{PREFIX}/jupyterhub --config={SETTINGS_DIR}/jupyterhub_config.py",
            unit=(
                "After=network-online.target nss-user-lookup.target remote-fs.target",
                "After=dsportal-proxy.service munge.service",
                "Wants=network-online.target dsportal-proxy.service",
            ),
            # sudo needs new privileges, and the launcher the users' homes.
            lines=(f"Environment=PATH={PREFIX}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin",),
        ),
        "dsportal-culler.service": _service(
            "Data Scientist Portal: stop of forgotten sessions",
            account,
            name="culler",
            command=f"{PREFIX}/dsportal run culler",
            unit=("After=dsportal-hub.service",),
            lines=("NoNewPrivileges=yes", "ProtectHome=yes", "PrivateDevices=yes"),
        ),
        "dsportal-backup.service": _render(
            ("Unit", ("Description=Data Scientist Portal: backup of the database",)),
            (
                "Service",
                (
                    "Type=oneshot",
                    f"User={account}",
                    f"ExecStart={PREFIX}/dsportal backup",
                    "NoNewPrivileges=yes",
                    "ProtectHome=yes",
                ),
            ),
        ),
        "dsportal-backup.timer": _render(
            ("Unit", ("Description=Data Scientist Portal: backup every night",)),
            ("Timer", ("OnCalendar=*-*-* 03:20:00", "RandomizedDelaySec=20min", "Persistent=yes")),
            ("Install", ("WantedBy=timers.target",)),
        ),
    }


def _service(
    description: str,
    account: str,
    *,
    name: str,
    command: str,
    unit: tuple[str, ...],
    lines: tuple[str, ...],
    restart: str = "on-failure",
) -> str:
    return _render(
        ("Unit", (f"Description={description}", *unit)),
        (
            "Service",
            (
                f"User={account}",
                f"WorkingDirectory={STATE_DIR}",
                f"EnvironmentFile={SETTINGS_DIR}/secrets.env",
                # Exists only if slurm.conf is not in Slurm's default place.
                f"EnvironmentFile=-{SETTINGS_DIR}/slurm.env",
                f"ExecStart={command}",
                f"StandardOutput=append:{LOG_DIR}/{name}.log",
                f"StandardError=append:{LOG_DIR}/{name}.log",
                f"Restart={restart}",
                "RestartSec=3",
                "TimeoutStopSec=30",
                # Each open notebook takes several connections, and 1024 is the usual limit.
                "LimitNOFILE=65536",
                "UMask=0077",
                "PrivateTmp=yes",
                "ProtectSystem=full",
                *lines,
            ),
        ),
        ("Install", ("WantedBy=multi-user.target",)),
    )


def _render(*sections: tuple[str, tuple[str, ...]]) -> str:
    blocks = ["\n".join([f"[{title}]", *lines]) for title, lines in sections]
    return f"# {MARK}\n" + "\n\n".join(blocks) + "\n"
