"""What only the tests of the portal need; it is built when it is asked for."""

from collections.abc import Sequence
from pathlib import Path

from deploy.environments.builder import debian, image, node, unpacked
from deploy.environments.builder.environment import environment_target
from deploy.environments.builder.target import Target

# Recommended packages are not installed, and Chromium's fonts are among those.
BROWSER_PACKAGES = ("chromium", "fonts-dejavu-core")


def _debian_target(name: str, summary: str, packages: Sequence[str], result: str) -> Target:
    return Target(
        name=name,
        summary=summary,
        build=lambda plan, log: debian.ensure_packages(packages, log),
        made_from=lambda plan: [*packages],
        results=lambda plan: [Path(result)],
    )


def _unpacked_target(name: str, summary: str, package: str, program: str) -> Target:
    return Target(
        name=name,
        summary=summary,
        build=lambda plan, log: unpacked.unpack(plan, package, log),
        made_from=lambda plan: [package],
        results=lambda plan: [unpacked.program(plan, package, program)],
        code=("unpacked",),
    )


TARGETS_FOR_TESTS = (
    environment_target("test", "installing the tools that test the portal"),
    environment_target("moto", "installing a server of S3 for the tests of the drive"),
    _debian_target(
        "curl",
        "installing curl for the tests on the cluster",
        ["curl"],
        "/usr/bin/curl",
    ),
    _debian_target(
        "browser",
        "installing Chromium for the browser tests",
        BROWSER_PACKAGES,
        "/usr/bin/chromium",
    ),
    Target(
        name="axe",
        summary="installing axe-core for the browser tests",
        build=lambda plan, log: node.replace_modules(
            plan, plan.recipes_dir / "axe", plan.axe_dir, log
        ),
        made_from=lambda plan: [plan.recipes_dir / "axe"],
        results=lambda plan: [node.axe_script(plan)],
        needs=("node",),
        code=("node",),
    ),
    Target(
        name="labextension",
        summary="installing what checks and builds the labextension",
        build=lambda plan, log: node.replace_modules(
            plan, node.labextension_sources(plan), plan.labextension_dir, log
        ),
        made_from=lambda plan: [node.labextension_sources(plan) / name for name in node.LOCKED],
        results=lambda plan: [node.labextension_modules(plan)],
        needs=("node",),
        code=("node",),
    ),
    _debian_target(
        "ansible",
        "installing Ansible for the tests of the role",
        ["ansible-core"],
        "/usr/bin/ansible-playbook",
    ),
    _debian_target(
        "sudo",
        "installing sudo for the tests of its rules",
        ["sudo"],
        "/usr/sbin/visudo",
    ),
    Target(
        name="modules",
        summary="installing environment-modules and Lmod for the kernel tests",
        build=unpacked.install_modules,
        made_from=lambda plan: [*unpacked.MODULES],
        results=lambda plan: [Path("/usr/share/modules/init/bash"), unpacked.LMOD_LINK],
        code=("unpacked",),
    ),
    _debian_target(
        "jython",
        "installing Jython, a Python 2, for the kernel tests",
        # Debian has no CPython 2 any more.
        ["jython"],
        "/usr/bin/jython",
    ),
    _debian_target(
        "pmix",
        "installing the library of Slurm's plugin for MPI, for the tests of Horovod over MPI",
        # The plugin loads libpmix.so by that name, and libpmix2 has only libpmix.so.2.
        ["libpmix-dev"],
        "/usr/lib/x86_64-linux-gnu/libpmix.so",
    ),
    _debian_target(
        "desktop",
        "installing TigerVNC and noVNC, for the test of a desktop in a tab",
        ["tigervnc-standalone-server", "novnc", "python3-tornado", "xauth", "xterm"],
        "/usr/bin/Xtigervnc",
    ),
    _debian_target(
        "packaging",
        "installing what builds and signs packages, for the tests of a release",
        ["rpm", "gnupg", "openssh-client"],
        "/usr/bin/rpmbuild",
    ),
    _unpacked_target(
        "registry",
        "unpacking a container registry for the kernel tests",
        "docker-registry",
        "usr/bin/docker-registry",
    ),
    _unpacked_target(
        "prometheus",
        "unpacking Prometheus for the tests of the dashboard and the alerts",
        "prometheus",
        unpacked.PROMETHEUS,
    ),
    _unpacked_target(
        "nginx",
        "unpacking nginx for the tests of the TLS front end",
        "nginx",
        "usr/sbin/nginx",
    ),
    Target(
        name="apptainer",
        summary="unpacking Apptainer for the kernel tests",
        build=unpacked.install_apptainer,
        made_from=lambda plan: [unpacked.APPTAINER_SOURCE, *unpacked.APPTAINER_PACKAGES],
        results=lambda plan: [unpacked.APPTAINER],
        code=("unpacked",),
    ),
    Target(
        name="image",
        summary="making a container image for the kernel tests",
        build=image.make_image,
        made_from=lambda plan: [*image.PACKAGES],
        results=lambda plan: [image.image_dir(plan) / "index.json"],
        needs=("uv", "server"),
        code=("image",),
    ),
)
