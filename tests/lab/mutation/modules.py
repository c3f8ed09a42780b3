"""The modules that are mutated, each with the tests that have to notice it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MutatedModule:
    """One module and its own tests.

    Args:
        path: The module, such as "spawner/options/limits.py".
        tests: Files of tests, in unit or programs; no others are run.
        environment: That in which its tests start a program that runs it, such as "tensorflow";
            empty if they run it themselves. Which of them call which function is then not seen,
            and all of them are run with each mutant.
    """

    path: str
    tests: tuple[str, ...]
    environment: str = ""

    @property
    def name(self) -> str:
        """Its name for --module: "limits"."""
        return self.path.rpartition("/")[2].removesuffix(".py")


def mirrored(path: str, *others: str, folder: str = "unit", environment: str = "") -> MutatedModule:
    """Return a module whose tests are where the module is, and `others` that test it, too."""
    # The project of `dsportal` holds one package, and its tests are below the name of that.
    parent, _, name = path.removeprefix("portal/dsportal/").rpartition("/")
    return MutatedModule(path, (f"tests/{folder}/{parent}/test_{name}", *others), environment)


MODULES = (
    mirrored("spawner/session/session_job.py"),
    MutatedModule(
        "spawner/session/submission.py", ("tests/unit/spawner/session/test_session_job.py",)
    ),
    mirrored("spawner/session/requeue.py"),
    mirrored("spawner/client/watcher.py"),
    MutatedModule(
        "spawner/client/command.py",
        (
            "tests/programs/spawner/client/test_command.py",
            "tests/unit/dsportal/slurm/test_no_answer.py",
        ),
    ),
    mirrored("spawner/options/job_options.py"),
    mirrored("spawner/options/request.py"),
    mirrored("spawner/options/limits.py"),
    mirrored("spawner/hub/port_api.py"),
    mirrored("spawner/session/orphans.py"),
    mirrored("spawner/session/restore.py"),
    mirrored("spawner/programs/launcher.py"),
    mirrored("portal/hub/auth/login_throttle.py"),
    mirrored("portal/hub/auth/login_queue.py"),
    mirrored("portal/hub/auth/account_status.py"),
    mirrored("portal/hub/admin/tokens.py"),
    mirrored("portal/dsportal/dsportal/rendezvous/store.py", folder="programs"),
    mirrored("portal/dsportal/dsportal/task/pickles.py"),
    mirrored(
        "portal/dsportal/dsportal/frameworks/horovod_optimizer.py",
        folder="programs",
        environment="tensorflow",
    ),
    mirrored(
        "portal/dsportal/dsportal/data/shards.py", folder="programs", environment="tensorflow"
    ),
    mirrored("portal/server/base/idle.py"),
    mirrored("portal/server/session/time_left.py"),
    mirrored("portal/dsportal/dsportal/probe.py"),
)
BY_NAME = {module.name: module for module in MODULES}
