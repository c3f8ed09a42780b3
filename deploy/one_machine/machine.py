"""The steps that set this machine up, in order."""

from collections.abc import Sequence

from deploy.common.files import ensure_folder
from deploy.one_machine import (
    accounting,
    accounts,
    directory,
    mariadb,
    munge,
    name_service,
    node,
    packages,
    portal,
    slurm,
    storage,
    users,
)
from deploy.one_machine.cluster import Cluster, Node
from deploy.one_machine.environments import Build
from deploy.one_machine.extras import debian_packages, steps_extra
from deploy.one_machine.gateway import Gateway
from deploy.one_machine.hubs import FRONT, NGINX_PACKAGE, ONLY, Hub
from deploy.one_machine.layout import (
    LOG_DIR,
    NODES_DIR,
    RUN_DIR,
    SETTINGS_DIR,
    STATE_DIR,
)
from deploy.one_machine.steps import Step
from deploy.one_machine.supervisor import end_orphans, names

FOLDERS = (SETTINGS_DIR, STATE_DIR, LOG_DIR, RUN_DIR, NODES_DIR)


def steps_up(
    cluster: Cluster,
    build: Build,
    gateway: Gateway,
    extras: Sequence[str] = (),
    hubs: Sequence[Hub] = (ONLY,),
) -> list[Step]:
    """Return all steps of deploy/up, in order."""
    added = [*debian_packages(extras), *([NGINX_PACKAGE] if len(hubs) > 1 else [])]
    return [
        Step(
            name="packages",
            title="Packages of Debian",
            do=lambda: packages.ensure_packages(added),
        ),
        Step(name="accounts", title="Account of hub and proxy", do=ensure_accounts),
        Step(name="storage", title="Shared storage", do=storage.ensure_storage),
        # In the background from here on, because it takes longest.
        Step(name="build", title="Environments: start", do=build.start),
        *_cluster_steps(cluster),
        Step(name="internet", title="Way of the nodes to the internet", do=gateway.ensure),
        Step(name="environments", title="Environments: finish", do=build.join),
        *steps_extra(extras),
        # After the build, which installs the programs that the rule names.
        Step(name="sudoers", title="Rule of sudo", do=accounts.ensure_sudoers),
        Step(name="command", title="Command dsportal", do=portal.ensure_command),
        *_hub_steps(cluster, hubs),
    ]


def _hub_steps(cluster: Cluster, hubs: Sequence[Hub]) -> list[Step]:
    others = Step(name="hubs", title="Other hubs", do=lambda: portal.forget_others(hubs))
    front = Step(name=FRONT, title="Page of all hubs", do=lambda: portal.ensure_front(hubs))
    return [
        others,
        *(step for hub in hubs for step in _steps_of_hub(cluster, hub, hubs)),
        *([front] if len(hubs) > 1 else []),
    ]


def _steps_of_hub(cluster: Cluster, hub: Hub, hubs: Sequence[Hub]) -> list[Step]:
    which = f" {hub.base_url}" if hub.name else ""
    return [
        Step(
            name=hub.daemon("settings"),
            title=f"Settings of the portal{which}",
            do=lambda: portal.ensure_settings(cluster, hub, hubs),
        ),
        Step(name=hub.daemon("proxy"), title=f"Proxy{which}", do=lambda: portal.ensure_proxy(hub)),
        Step(name=hub.daemon("hub"), title=f"JupyterHub{which}", do=lambda: portal.ensure_hub(hub)),
    ]


def _cluster_steps(cluster: Cluster) -> list[Step]:
    names = [user.name for user in users.DEMO_USERS]
    return [
        Step(name="slapd", title="LDAP server", do=directory.ensure_slapd),
        Step(name="passwords", title="Passwords of the demo users", do=ensure_passwords),
        # It logs in with the reader's password, which the step before has set.
        Step(name="nslcd", title="Name service", do=name_service.ensure_name_service),
        # The projects folder belongs to a group that only the name service knows.
        Step(name="homes", title="Home and project folders", do=ensure_homes),
        Step(
            name="network",
            title="Network of the nodes",
            do=lambda: node.ensure_network(cluster),
        ),
        Step(name="munge", title="munge", do=munge.ensure_munge),
        Step(name="mariadb", title="MariaDB", do=mariadb.ensure_mariadb),
        Step(
            name="slurmconf",
            title="Slurm: configuration",
            do=lambda: slurm.ensure_configuration(cluster),
        ),
        Step(name="slurmdbd", title="Slurm: accounting", do=slurm.ensure_slurmdbd),
        Step(
            name="associations",
            title="Slurm: who may submit",
            do=lambda: accounting.ensure_associations(names),
        ),
        Step(
            name="slurmctld",
            title="Slurm: controller",
            do=lambda: slurm.ensure_slurmctld(cluster),
        ),
        *(_node_step(part, cluster) for part in cluster.nodes),
        Step(name="slurm", title="Slurm: nodes take jobs", do=lambda: node.ensure_usable(cluster)),
    ]


def _node_step(part: Node, cluster: Cluster) -> Step:
    return Step(
        name=part.host.name,
        title=f"Compute node {part.host.name}",
        do=lambda: node.ensure_node(part, has_simulated_gpus=cluster.has_simulated_gpus),
    )


def ensure_accounts() -> str:
    """Create the folders and the account of hub and proxy, except on somebody else's machine."""
    # Before one of these passes for the machine's own nslcd.
    end_orphans()
    # Before the first folder: a refused machine gets none of ours.
    name_service.refuse_foreign_nslcd()
    for folder in FOLDERS:
        ensure_folder(folder)
    users.refuse_local_namesakes()
    return accounts.ensure_account()


def ensure_passwords() -> str:
    """Create the demo users' password and set it in the directory."""
    directory.ensure_reader()
    return directory.ensure_passwords(users.ensure_password())


def ensure_homes() -> str:
    """Create the demo users' folders."""
    outcomes = {users.ensure_homes(), storage.ensure_projects()} - {"unchanged"}
    return ", ".join(sorted(outcomes)) or "unchanged"


def daemons(cluster: Cluster) -> list[str]:
    """Return the name of every daemon, in the order in which they are stopped.

    Returns:
        What uses something comes before what it uses. slurmctld comes before the nodes, so that it
        does not see them fail.
    """
    nodes = [host.name for host in cluster.hosts]
    more = [name for name in names() if name == FRONT or name.startswith(("hub-", "proxy-"))]
    first = (*more, "hub", "proxy", "slurmctld")
    return [*first, *nodes, "slurmdbd", "mariadb", "munge", "nslcd", "slapd"]
