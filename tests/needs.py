"""What suites need beside the portal: packages of Debian, and targets of the builder."""

from collections.abc import Sequence

from deploy.one_machine.hubs import NGINX_PACKAGE
from deploy.one_machine.packages import install_packages, missing_packages
from tests.suites import Suite
from tests.targets import BROWSER, KERNELS


def packages_of(suites: Sequence[Suite]) -> list[str]:
    """Return the packages of Debian that suites need."""
    packages: list[str] = []
    if any(suite.name == "programs" for suite in suites):
        packages += ("ansible-core", "prometheus", "sudo")
    if any(suite.needs_cluster for suite in suites):
        packages += ("curl",)
    if any(suite.needs_browser for suite in suites):
        packages += BROWSER
    if any(suite.needs_front_end for suite in suites):
        packages += (NGINX_PACKAGE,)
    if any(suite.needs_packaging for suite in suites):
        packages += ("rpm",)
    if any(suite.needs_kernels for suite in suites):
        packages += KERNELS
    return packages


def targets_of(suites: Sequence[Suite]) -> list[str]:
    """Return the targets that suites need beside images."""
    targets = ["test"]
    if any(suite.name in {"server", "security"} for suite in suites):
        targets.append("moto")
    if any(suite.needs_browser for suite in suites):
        targets.append("axe")
    if any(suite.needs_labextension for suite in suites):
        targets.append("labextension")
    if any(suite.needs_kernels for suite in suites):
        targets.append("lmod")
    return targets


def ensure_packages(*names: str) -> None:
    """Install the packages that are missing, without starting their daemons."""
    if missing := missing_packages(names):
        print(f"\n== packages: {', '.join(missing)}", flush=True)
        install_packages(missing)
