"""The size of a job that a command asks for, mail about it, and what comes with each GPU."""

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dsportal.errors import LaunchError
from dsportal.launch.layout import parse_layout
from dsportal.launch.sbatch import JobRequest, mail_to
from dsportal.slurm.errors import PortalError
from spawner.installed_paths import DEFAULT_SETTINGS_PATH
from spawner.session_settings import VARIABLE
from spawner.settings.resources import ResourceSettings

SECONDS_PER_HOUR = 3600
# A year: more is a mistake of the keyboard, and Slurm refuses what a partition does not allow.
MOST_HOURS = 8760


@dataclass(frozen=True, slots=True)
class Rule:
    """What comes with each GPU at this site.

    Attributes:
        simulated_gpus: Whether the GPUs of the site do not compute.
    """

    cores_per_gpu: int
    memory_mib_per_gpu: int
    simulated_gpus: bool


class JobError(PortalError):
    """The requested job cannot be written."""


def parse_size(arguments: argparse.Namespace, script: Path, rule: Rule) -> JobRequest:
    """Return the job that the options ask for.

    Raises:
        JobError: If no job has this size.
    """
    try:
        shape = parse_layout(arguments.gpus, arguments.nodes, n_session_gpus=0)
    except LaunchError as error:
        raise JobError(str(error)) from error
    if not 1 / 60 <= arguments.hours <= MOST_HOURS:
        raise JobError(
            f"You asked for --hours {arguments.hours:g}. Give a number from 0.02 to {MOST_HOURS:g},"
            " for example 8; a partition may allow less."
        )
    return JobRequest(
        name=script.stem,
        shape=shape,
        walltime_s=round(arguments.hours * SECONDS_PER_HOUR),
        folder=script.parent,
        cores_per_gpu=rule.cores_per_gpu,
        memory_mib_per_gpu=rule.memory_mib_per_gpu,
        partition=arguments.partition,
        account=arguments.account,
        qos=arguments.qos,
        mail_to=mail_to(os.environ, is_wanted=arguments.mail),
    )


def commands_folder() -> Path:
    """Return the folder of the commands of sessions, on nodes."""
    # The head node's dsportal is that of another environment, and its jobs run on nodes.
    places = (Path(sys.prefix), Path(sys.prefix).parent / "server")
    folder = next((place for place in places if (place / "commands").is_dir()), places[-1])
    return folder / "commands"


def read_rule(environ: Mapping[str, str]) -> Rule:
    """Return that of a session, or of the site."""
    is_simulated = environ.get("PORTAL_GPUS_SIMULATED") == "1"
    if VARIABLE in environ:
        from portal.settings.session_tables import read_settings

        session = read_settings(environ).resources
        return Rule(session.cores_per_gpu, session.memory_mib_per_gpu, is_simulated)
    # Outside a session; a compute node may have no settings, and the defaults then apply.
    if os.access(DEFAULT_SETTINGS_PATH, os.R_OK):
        from portal.hub.settings.loader import load_settings

        settings = load_settings(DEFAULT_SETTINGS_PATH)
        resources, is_simulated = settings.resources, settings.site.simulated_gpus
    else:
        resources = ResourceSettings()
    return Rule(resources.cores_per_gpu, resources.memory_mib_per_gpu, is_simulated)
