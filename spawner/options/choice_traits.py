"""The settings of `SlurmGPUSpawner` that decide what users may ask for."""

from __future__ import annotations

from traitlets import Bool, Dict, HasTraits, Integer, List, Unicode

from spawner.defaults import DEFAULTS


class ChoiceTraits(HasTraits):
    """Cores, memory, limits, choices, rescue sessions and extensions, with units in their names."""

    cores_per_gpu = Integer(
        DEFAULTS.cores_per_gpu,
        min=1,
        help="CPU cores that come with each GPU. Lowered automatically on nodes that have fewer.",
    ).tag(config=True)

    memory_mib_per_gpu = Integer(
        DEFAULTS.memory_mib_per_gpu,
        min=1,
        help="""Memory in MiB that comes with each GPU. Lowered automatically on nodes that have
        less.""",
    ).tag(config=True)

    partition_shapes = Dict(
        help="""Partitions with a rule of their own: for each name a dictionary with
        "cores_per_gpu" and "memory_mib_per_gpu", either or both.""",
    ).tag(config=True)

    default_walltime_s = Integer(
        DEFAULTS.default_walltime_s,
        # Slurm's time limits are whole minutes.
        min=60,
        help="Length of a session in seconds when its user names none.",
    ).tag(config=True)

    max_walltime_s = Integer(
        DEFAULTS.max_walltime_s,
        min=60,
        help="The longest session in seconds that a user may ask for.",
    ).tag(config=True)

    max_gpus = Integer(
        None,
        allow_none=True,
        min=1,
        help="Most GPUs of one session. None: as many as the largest node has.",
    ).tag(config=True)

    allow_cpu_only = Bool(
        DEFAULTS.allow_cpu_only,
        help="Offer sessions without a GPU; they get the cores and memory of one.",
    ).tag(config=True)

    partitions = List(
        Unicode(),
        help="""Partitions that users may choose from; a session that names none goes to the first
        that can hold it. Empty: `req_partition`, or else Slurm's default, and no choice.""",
    ).tag(config=True)

    gpu_types = List(
        Unicode(), help="GPU types, MIG profiles or shards offered. Empty: all that Slurm has."
    ).tag(config=True)

    accounts = List(Unicode(), help="Slurm accounts that users may name. Empty: none.").tag(
        config=True
    )

    qos = List(Unicode(), help="Qualities of service that users may name. Empty: none.").tag(
        config=True
    )

    reservations = List(Unicode(), help="Reservations that users may name. Empty: none.").tag(
        config=True
    )

    group_limits = Dict(
        help="""Lower limits for groups of users: for each group a dictionary with some of
        "max_gpus", "max_hours" and "partitions". Of several groups the most generous counts.""",
    ).tag(config=True)

    user_limits = Dict(
        help="""Lower limits for single users, by name, as in `group_limits`. For such a user they
        count in place of those of groups.""",
    ).tag(config=True)

    rescue_walltime_s = Integer(
        DEFAULTS.rescue_walltime_s,
        min=0,
        help="""Length in seconds of a rescue session, which writes nothing into a home that is
        full; 0: none are offered.""",
    ).tag(config=True)

    rescue_cores = Integer(DEFAULTS.rescue_cores, min=1, help="CPU cores of a rescue session.").tag(
        config=True
    )

    rescue_memory_mib = Integer(
        DEFAULTS.rescue_memory_mib, min=256, help="Memory of a rescue session in MiB."
    ).tag(config=True)

    extension_s = Integer(
        DEFAULTS.extension_s,
        min=0,
        help="Seconds that one extension adds to a running session; 0 offers none.",
    ).tag(config=True)

    max_extended_s = Integer(
        DEFAULTS.max_extended_s,
        min=60,
        help="The longest session in seconds, its extensions included.",
    ).tag(config=True)

    max_extensions = Integer(
        DEFAULTS.max_extensions, min=0, help="How often one session may be extended."
    ).tag(config=True)

    extend_while_others_wait = Bool(
        DEFAULTS.extend_while_others_wait,
        help="Extend sessions even while another job waits for the same partition.",
    ).tag(config=True)
