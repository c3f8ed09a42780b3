"""The settings of `SlurmGPUSpawner` that an operator can change, those of `choice_traits` too."""

from __future__ import annotations

from traitlets import Bool, Callable, Float, Instance, Integer, List, Unicode

from spawner.client.preflight import Preflight
from spawner.defaults import DEFAULTS, SERVER_PROGRAM
from spawner.options.choice_traits import ChoiceTraits
from spawner.session_settings import SessionSettings

# JupyterHub has no value for a start without a limit.
SECONDS_IN_TEN_YEARS = 10 * 366 * 86_400


class SiteTraits(ChoiceTraits):
    """The operator's settings, with units in their names."""

    launcher_argv = List(
        Unicode(),
        [DEFAULTS.launcher],
        help="The launcher, exactly as the sudoers file names it.",
    ).tag(config=True)

    sudo_argv = List(
        Unicode(),
        # -n: nobody could type a password. -H: the user's home, not the hub's.
        ["sudo", "-n", "-H", "-u"],
        help="Words in front of the user's name and the launcher.",
    ).tag(config=True)

    server_argv = List(
        Unicode(),
        [f"{DEFAULTS.server_environment}/{SERVER_PROGRAM}"],
        help="Program of the notebook server on the nodes, with its arguments.",
    ).tag(config=True)

    certificates_dir = Unicode(
        "",
        help="""Folder of the hub's certificates, which `dsportal run proxy` makes. Empty: sessions
        use plain HTTP.""",
    ).tag(config=True)

    port_min = Integer(
        DEFAULTS.port_min,
        min=1024,
        max=65535,
        help="Lowest port that a notebook server may choose.",
    ).tag(config=True)

    port_max = Integer(
        DEFAULTS.port_max,
        min=1024,
        max=65535,
        help="Highest port that a notebook server may choose.",
    ).tag(config=True)

    any_port = Bool(
        DEFAULTS.any_port,
        help="""Whether a notebook server takes any other port if none from port_min to port_max
        is free on its node.""",
    ).tag(config=True)

    running_start_timeout_s = Integer(
        DEFAULTS.running_start_timeout_s,
        min=1,
        help="""Seconds from the moment the job runs until its server has to answer. Time in the
        queue does not count, and has no limit.""",
    ).tag(config=True)

    warning_s = Integer(
        DEFAULTS.warning_s,
        min=0,
        max=65535,
        help="Seconds before the time limit at which Slurm warns the session; 0 for never.",
    ).tag(config=True)

    watch_waiting_s = Float(
        DEFAULTS.watch_waiting_s,
        min=0.5,
        help="Seconds between two queries to Slurm while a session waits or starts.",
    ).tag(config=True)

    watch_running_s = Float(
        DEFAULTS.watch_running_s, min=1.0, help="Seconds between two queries to Slurm otherwise."
    ).tag(config=True)

    absent_s = Float(
        DEFAULTS.absent_s,
        min=1.0,
        help="""Seconds after which a job that squeue does not show counts as over if there is no
        accounting, or accounting does not know it either.""",
    ).tag(config=True)

    orphan_interval_s = Float(
        DEFAULTS.orphan_interval_s,
        min=1.0,
        help="Seconds between two searches for jobs of this hub that no session knows.",
    ).tag(config=True)

    orphan_after_s = Float(
        DEFAULTS.orphan_after_s,
        min=0.0,
        help="Seconds that such a job may run on before it is cancelled.",
    ).tag(config=True)

    slurm_timeout_s = Float(
        DEFAULTS.slurm_timeout_s, min=1.0, help="Seconds after which a query to Slurm is abandoned."
    ).tag(config=True)

    catalog_age_s = Float(
        DEFAULTS.catalog_age_s,
        min=0.0,
        help="""Seconds for which the output of sinfo is reused. While many users ask, up to six
        times as long, unless a session begins or ends.""",
    ).tag(config=True)

    forecasts_per_minute = Integer(
        DEFAULTS.forecasts_per_minute,
        min=0,
        help="""Most queries to Slurm per minute about when a session would start
        (sbatch --test-only), over all users. 0: the form shows only what is free.""",
    ).tag(config=True)

    forecast_age_s = Float(
        DEFAULTS.forecast_age_s,
        min=1.0,
        help="""Seconds for which a forecast of a start is reused. While many users ask, up to three
        times as long.""",
    ).tag(config=True)

    associations_age_s = Float(
        DEFAULTS.associations_age_s,
        min=1.0,
        help="Seconds for which accounts and limits from sacctmgr are reused.",
    ).tag(config=True)

    usage_age_s = Float(
        DEFAULTS.usage_age_s,
        min=1.0,
        help="Seconds for which what accounting says of a user is reused.",
    ).tag(config=True)

    storage_age_s = Float(
        DEFAULTS.storage_age_s,
        min=1.0,
        help="Seconds for which the state of a user's folders is reused.",
    ).tag(config=True)

    forecast_path = Unicode(
        help="File in which forecasts and actual starts are kept. Empty: until the hub restarts."
    ).tag(config=True)

    preflight = Instance(
        Preflight,
        (),
        help="Checks of home, shared storage and notebook server before a job is submitted.",
    ).tag(config=True)

    session_settings = Instance(
        SessionSettings,
        (),
        help="Settings of the programs in a session; ports are those of `port_min` and so on.",
    ).tag(config=True)

    simulated_gpus = Bool(
        DEFAULTS.simulated_gpus,
        help="The GPUs are simulated: Slurm allocates them, but they compute nothing.",
    ).tag(config=True)

    session_notices = Callable(
        lambda: (),
        help="Returns the sentences that pages inside a session show now, such as the announcement "
        "of a maintenance.",
    ).tag(config=True)

    extender_argv = List(
        Unicode(),
        [DEFAULTS.extender],
        help="The program that lengthens a time limit, exactly as the sudoers file names it.",
    ).tag(config=True)

    slurm_user = Unicode(
        DEFAULTS.slurm_user, help="Slurm's own account, SlurmUser in slurm.conf, as whom it is run."
    ).tag(config=True)

    # Not a setting: time in the queue would count, and the hub would cancel waiting jobs.
    start_timeout = Integer(
        SECONDS_IN_TEN_YEARS,
        help="JupyterHub's limit for a start. Not used: see running_start_timeout_s.",
    )

    http_timeout = Integer(
        DEFAULTS.http_timeout_s, help="Seconds within which a running server has to answer the hub."
    ).tag(config=True)

    poll_interval = Integer(
        DEFAULTS.poll_interval_s,
        help="""Seconds between JupyterHub's own polls of a server. The watcher reports ends itself,
        so these polls cost nothing and find nothing new.""",
    ).tag(config=True)

    env_keep = List(Unicode(), help="Variables of the hub's own environment that servers get.").tag(
        config=True
    )

    default_url = Unicode(DEFAULTS.default_url, help="Page on which users land.").tag(config=True)


class SpawnerTraits(SiteTraits):
    """The operator's settings with batchspawner's own, as a spawner has them."""

    req_account: str
    req_partition: str
    req_qos: str
