"""The settings of `SlurmGPUSpawner` that an operator can change."""

from collections import abc
from typing import Any, cast

from traitlets import Callable, Dict, Float, HasTraits, Instance, Integer, List, Unicode

from spawner.client.preflight import Preflight
from spawner.installed_paths import EXTENDER, LAUNCHER, SERVER_ENVIRONMENT, SERVER_PROGRAM
from spawner.settings.choices import ChoiceSettings
from spawner.settings.clock import ClockSettings
from spawner.settings.extension import ExtensionSettings
from spawner.settings.forecast import ForecastSettings
from spawner.settings.rescue import RescueSettings
from spawner.settings.resources import ResourceSettings
from spawner.settings.site import SiteSettings
from spawner.settings.slurm import SlurmSettings
from spawner.settings.traits import traits_of

# JupyterHub has no value for a start without a limit.
SECONDS_IN_TEN_YEARS = 10 * 366 * 86_400


# The tables of portal.toml whose keys are also traits of the spawner.
WITH_TRAITS: tuple[type, ...] = (
    SiteSettings,
    ResourceSettings,
    ChoiceSettings,
    ForecastSettings,
    RescueSettings,
    SlurmSettings,
    ClockSettings,
    ExtensionSettings,
)


class SiteTraits(HasTraits):
    """The operator's settings, with units in their names: those of the tables, and these."""

    # One for each key of a table; `read_traits` gives the table back.
    vars().update(traits_of(*WITH_TRAITS))

    partitions = List(
        Unicode(),
        help="""Partitions that users may choose from; a session that names none goes to the first
        that can hold it. Empty: `req_partition`, or else Slurm's default, and no choice.""",
    ).tag(config=True)

    partition_shapes = Dict(
        help="""Partitions with a rule of their own: for each name a dictionary with
        "cores_per_gpu" and "memory_mib_per_gpu", either or both.""",
    ).tag(config=True)

    group_limits = Dict(
        help="""Lower limits for groups of users: for each group a dictionary with some of
        "max_gpus", "max_hours" and "partitions". Of several groups the most generous counts.""",
    ).tag(config=True)

    user_limits = Dict(
        help="""Lower limits for single users, by name, as in `group_limits`. For such a user they
        count in place of those of groups.""",
    ).tag(config=True)

    clusters = Dict(
        help="""Further clusters that users may choose, by name: for each a dictionary with
        "slurm_conf", its slurm.conf on this host, and values of other traits that count there.""",
    ).tag(config=True)

    preflight = Instance(
        Preflight,
        (),
        help="Checks of home, shared storage and notebook server before a job is submitted.",
    ).tag(config=True)

    session_settings = Dict(
        help="Tables of settings for the programs in a session, besides those of the traits.",
    ).tag(config=True)

    session_notices = Callable(
        lambda: (),
        help="Returns the sentences that pages inside a session show now, such as the announcement "
        "of a maintenance.",
    ).tag(config=True)

    session_refusal = Callable(
        lambda: "",
        help="Returns why sessions get nothing more now, such as GPUs for a kernel. Empty: they "
        "do.",
    ).tag(config=True)

    certificates_dir = Unicode(
        "",
        help="""Folder of the hub's certificates, which `dsportal run proxy` makes. Empty: sessions
        use plain HTTP.""",
    ).tag(config=True)

    forecast_path = Unicode(
        help="File in which forecasts and actual starts are kept. Empty: until the hub restarts."
    ).tag(config=True)

    answers_dir = Unicode(
        help="""Folder in which several hubs on one Slurm share its answers about the cluster, of
        the hubs' account alone. Empty: the hub asks by itself."""
    ).tag(config=True)

    server_argv = List(
        Unicode(),
        [f"{SERVER_ENVIRONMENT}/{SERVER_PROGRAM}"],
        help="Program of the notebook server on the nodes, with its arguments.",
    ).tag(config=True)

    absent_s = Float(
        60.0,
        min=1.0,
        help="""Seconds after which a job that squeue does not show counts as over if there is no
        accounting, or accounting does not know it either.""",
    ).tag(config=True)

    orphan_interval_s = Float(
        300.0,
        min=1.0,
        help="Seconds between two searches for jobs of this hub that no session knows.",
    ).tag(config=True)

    orphan_after_s = Float(
        120.0, min=0.0, help="Seconds that such a job may run on before it is cancelled."
    ).tag(config=True)

    catalog_age_s = Float(
        5.0,
        min=0.0,
        help="""Seconds for which the output of sinfo is reused. While many users ask, up to six
        times as long, unless a session begins or ends; then ten times as long as sinfo took.""",
    ).tag(config=True)

    # Not a setting: time in the queue would count, and the hub would cancel waiting jobs.
    start_timeout = Integer(
        SECONDS_IN_TEN_YEARS,
        help="JupyterHub's limit for a start. Not used: see running_start_timeout_s.",
    )

    http_timeout = Integer(
        120, help="Seconds within which a running server has to answer the hub."
    ).tag(config=True)

    poll_interval = Integer(
        60,
        help="""Seconds between JupyterHub's own polls of a server. The watcher reports ends itself,
        so these polls cost nothing and find nothing new.""",
    ).tag(config=True)

    default_url = Unicode("/lab", help="Page on which users land.").tag(config=True)

    pages = Dict(
        value_trait=Unicode(),
        key_trait=Unicode(),
        help="""Pages on which users may choose to land instead, by their names on the form, such as
        {"Notebook": "/tree"}.""",
    ).tag(config=True)

    mail_times = List(
        Unicode(),
        help="""When users may choose to be told about a session, by names on the form. The
        spawner tells nobody itself: the hub does. Empty: no choice.""",
    ).tag(config=True)

    env_keep = List(Unicode(), help="Variables of the hub's own environment that servers get.").tag(
        config=True
    )

    launcher_argv = List(
        Unicode(), [LAUNCHER], help="The launcher, exactly as the sudoers file names it."
    ).tag(config=True)

    extender_argv = List(
        Unicode(),
        [EXTENDER],
        help="The program that lengthens a time limit, exactly as the sudoers file names it.",
    ).tag(config=True)

    sudo_argv = List(
        Unicode(),
        # -n: nobody could type a password. -H: the user's home, not the hub's.
        ["sudo", "-n", "-H", "-u"],
        help="Words in front of the user's name and the launcher.",
    ).tag(config=True)


class SpawnerTraits(SiteTraits):
    """The operator's settings with batchspawner's own, as a spawner has them."""

    req_account: str
    req_partition: str
    req_qos: str
    req_prologue: str
    req_epilogue: str
    req_options: str
    slurm_warning_s: int
    environment: dict[str, Any]
    get_args: abc.Callable[[], list[str]]


class TraitsOn:
    """The settings as they are on one of `clusters`; what it does not set is as everywhere."""

    def __init__(self, traits: SiteTraits, cluster: str) -> None:
        # A session may outlive the entry of its cluster, in whose place no other may answer.
        self._own = {"slurm_conf": f"/nonexistent/{cluster}", **traits.clusters.get(cluster, {})}
        self._traits = traits

    def __getattr__(self, name: str) -> Any:
        """Return the value of a setting."""
        return self._own[name] if name in self._own else getattr(self._traits, name)


def traits_on(traits: SpawnerTraits, cluster: str) -> SpawnerTraits:
    """Return the settings of a cluster; the first one, whose name is empty, has `traits`."""
    return cast(SpawnerTraits, TraitsOn(traits, cluster)) if cluster else traits


# What the portal makes from several keys; the others without a key are in the reference.
COMPOSED = (
    *("clusters", "partitions", "partition_shapes", "group_limits", "user_limits", "preflight"),
    *("session_settings", "session_notices", "session_refusal", "certificates_dir"),
    *("forecast_path", "server_argv"),
)
