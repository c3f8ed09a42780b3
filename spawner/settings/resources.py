"""The table [resources] of portal.toml."""

from dataclasses import dataclass

from dsportal.amounts import DEFAULT_HOURS, MIB_PER_GIB, SECONDS_PER_HOUR
from spawner.settings.schema import setting
from spawner.slurm.resources import ResourcesPerGpu


@dataclass(frozen=True, kw_only=True)
class ResourceSettings:
    """What comes with each GPU, and for how long."""

    # Source: 8 cores and 48 GB: Dell EMC, Deep Learning with NVIDIA, 2018, section 5.1.
    cores_per_gpu: int = setting(
        "CPU cores that come with each GPU. Lowered automatically on nodes that have fewer.",
        default=8,
        lowest=1,
        highest=1024,
    )
    memory_per_gpu_gib: float = setting(
        "Memory that comes with each GPU, in GiB. Lowered automatically on nodes that have less.",
        default=48.0,
        lowest=0.125,
        highest=16384,
    )
    cores_without_gpu: int = setting(
        "CPU cores of a session without a GPU.", default=2, lowest=1, highest=1024
    )
    memory_without_gpu_gib: float = setting(
        "Memory of a session without a GPU, in GiB.", default=8.0, lowest=0.125, highest=16384
    )
    # At least a minute, the unit of Slurm's time limits.
    session_hours: float = setting(
        "Length of a session whose user names none, in hours.",
        default=DEFAULT_HOURS,
        lowest=1 / 60,
        highest=8760,
    )
    max_session_hours: float = setting(
        "Longest session that a user may ask for, in hours.",
        default=24.0,
        lowest=1 / 60,
        highest=8760,
    )
    # Not below 1024: users cannot open such a port. Below 32768, where Linux's ports for outgoing
    # connections begin: those would take some of them.
    port_min: int = setting(
        "Lowest port that a session listens on, on its node.",
        default=30000,
        lowest=1024,
        highest=65535,
    )
    port_max: int = setting("Highest such port.", default=32767, lowest=1024, highest=65535)
    any_port: bool = setting(
        "Whether a session takes any other port if users' programs hold all of these on its node."
        " The nodes' firewall has to let the hub reach it: net.ipv4.ip_local_port_range says"
        " which ports the kernel hands out, usually 32768 to 60999.",
        default=True,
    )
    log_mib: int = setting(
        "Largest log of a session, in MiB. The oldest lines are dropped. The log is in the user's"
        " home. 0 for no limit.",
        default=20,
        lowest=0,
        highest=65536,
    )

    def __post_init__(self) -> None:
        if self.session_hours > self.max_session_hours:
            raise ValueError(
                f"session_hours is {self.session_hours:g}, above max_session_hours"
                f" ({self.max_session_hours:g}). Lower the first or raise the second."
            )
        if self.port_max < self.port_min:
            raise ValueError(
                f"port_max is {self.port_max}, below port_min ({self.port_min}). Swap them."
            )

    @property
    def memory_mib_per_gpu(self) -> int:
        """Memory that comes with each GPU, in MiB."""
        # Slurm counts whole MiB.
        return round(self.memory_per_gpu_gib * MIB_PER_GIB)

    @property
    def per_gpu(self) -> ResourcesPerGpu:
        """The site's rule for cores and memory per GPU."""
        return ResourcesPerGpu(
            cores_per_gpu=self.cores_per_gpu,
            memory_mib_per_gpu=self.memory_mib_per_gpu,
            cores_without_gpu=self.cores_without_gpu,
            memory_mib_without_gpu=round(self.memory_without_gpu_gib * MIB_PER_GIB),
        )

    @property
    def walltime_s(self) -> int:
        """Length of a session, in seconds."""
        return round(self.session_hours * SECONDS_PER_HOUR)

    @property
    def max_walltime_s(self) -> int:
        """Longest session that a user may choose, in seconds."""
        return round(self.max_session_hours * SECONDS_PER_HOUR)
