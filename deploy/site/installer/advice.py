"""What only the site itself may change: the installer prints it and never does it."""

from __future__ import annotations

from pathlib import Path

from deploy.site.installer.site import Site


def next_steps(site: Site, *, is_new: bool, n_changed: int) -> str:
    """Return the steps that are left to the site, as text for the terminal.

    Args:
        site: The installation.
        is_new: Whether no version was in use before.
        n_changed: How much this run has changed.
    """
    check = "Check the site:  dsportal check --user NAME"
    if not is_new and (site.prefix / "current").readlink() == Path(site.version):
        restart = "Let the portal use it:  systemctl restart dsportal-proxy dsportal-hub"
        running = [restart + " dsportal-culler", "Running sessions continue."]
        return "\n".join(["", *(running if n_changed else []), check])
    settings = site.settings_dir
    first = [
        f"1. Edit {settings}/portal.toml: address, [login],"
        " [partitions.NAME]. It admits nobody yet.",
        "   Then: dsportal config check",
        "2. Start:  systemctl enable --now dsportal-proxy dsportal-hub dsportal-culler"
        " dsportal-backup.timer",
    ]
    again = [
        f"1. Use this version:  dsportal switch {site.version}",
        "2. Running sessions continue, with the version that started them.",
    ]
    return "\n".join(
        [
            "",
            "What is left to you:",
            *(first if is_new else again),
            f"3. {check}",
            "",
            "Only if 'dsportal check' asks for it:",
            "* slurm.conf, AccountingStorageTRES=gres/gpu: without it Slurm does not record GPUs,",
            "  and the home page shows no GPU hours.",
            f"* sacctmgr add user {site.account} account=root adminlevel=operator: only if",
            "  PrivateData hides jobs or nodes; the hub follows all sessions with one squeue.",
            # port_min and api_port by default; from 32768 on it is Linux that gives out the ports.
            "* firewall of the nodes: TCP 30000 to 32767 from this host, where sessions listen,",
            "  and 32768 to 60999, where one listens if users' programs hold all of these;",
            "  firewall of this host: TCP 8081 from the nodes, where sessions call the hub.",
            "* TLS: "
            + str(site.prefix / site.version / "share/nginx.conf")
            + " is an example for nginx.",
        ]
    )
