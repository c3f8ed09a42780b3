"""The environments of hub and sessions, built into folders of their version."""

from collections.abc import Sequence
from dataclasses import dataclass

from deploy.common.errors import DeployError
from deploy.environments.builder.choices import keep_python
from deploy.environments.builder.command import one_build_at_a_time
from deploy.environments.builder.plan import Flavour, Plan
from deploy.environments.builder.schedule import Outcome, build_targets
from deploy.environments.builder.target import is_current
from deploy.environments.builder.targets import ONLY_FOR_GPUS, with_needs
from deploy.site.installer.site import Site

HUB_TARGETS = ("hub", "proxy", "launcher", "package")
SESSION_TARGETS = (
    "server",
    "tensorboard",
    "tensorflow",
    "pytorch",
    "python3",
    "kernels",
    "templates",
    "datasets",
    "package",
)
# Without them the notebook server's own Python is the only kernel.
FRAMEWORK_TARGETS = ("tensorflow", "pytorch", "kernels")


@dataclass(frozen=True, slots=True, kw_only=True)
class Environments:
    """Some targets of the builder under one prefix."""

    what: str
    plan: Plan
    targets: Sequence[str]

    @property
    def title(self) -> str:
        """Name for people."""
        return f"{self.what} in {self.plan.prefix}"

    def difference(self) -> str:
        """Return which targets would be built; empty if none."""
        wanted = with_needs(self.targets)
        lost = [target.name for target in wanted if not is_current(target, self.plan)]
        return f"build {', '.join(lost)}" if lost else ""

    def apply(self) -> None:
        """Build them."""
        with one_build_at_a_time(self.plan.prefix):
            # The next version then takes the same interpreter.
            keep_python(self.plan.prefix, self.plan.python)
            ended = build_targets(with_needs(self.targets), self.plan)
        lost = [one.name for one in ended if one.outcome in {Outcome.FAILED, Outcome.NOT_TRIED}]
        if lost:
            raise DeployError(
                f"{', '.join(lost)} could not be built.",
                next_step="Fix what the lines above say. What is already built is kept.",
                log=self.plan.log_dir,
            )


def list_environments(site: Site) -> list[Environments]:
    """Return the environments of this host, then those of the sessions."""
    left_out = () if site.with_frameworks else FRAMEWORK_TARGETS
    sessions = [name for name in SESSION_TARGETS if name not in left_out]
    sessions += _horovod_targets(site)
    sessions += ("code-server",) if site.with_code_server else ()
    return [
        Environments(
            what="hub, proxy and launcher",
            plan=Plan(
                prefix=site.prefix / site.version,
                log_dir=site.log_dir,
                settings_dir=site.settings_dir,
                python=site.python,
            ),
            targets=HUB_TARGETS,
        ),
        Environments(
            what="environments of sessions",
            plan=Plan(
                prefix=site.shared / site.version,
                # Next to the templates, which look there if the shared storage has none: root
                # may not be able to write to that.
                datasets_dir=site.shared / site.version / "datasets",
                log_dir=site.log_dir / "sessions",
                settings_dir=site.settings_dir,
                python=site.python,
                flavour=site.flavour,
                cuda_home=site.cuda_home,
                with_mpi=site.with_mpi,
            ),
            targets=sessions,
        ),
    ]


def _horovod_targets(site: Site) -> tuple[str, ...]:
    if not site.with_horovod:
        return ()
    return ("horovod", *(ONLY_FOR_GPUS if site.flavour is Flavour.GPU else ()))
