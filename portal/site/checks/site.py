"""All checks of a site, and the command line that runs them."""

import argparse
import asyncio
import json
import logging
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dsportal.amounts import count
from portal.hub.config_check import site_problems
from portal.hub.settings.loader import Settings, load_settings
from portal.site.account import become_hub_account
from portal.site.checks.chat import check_chat
from portal.site.checks.directory import check_directory, check_user
from portal.site.checks.finding import Check, Finding, Grade, Report, ok, problem
from portal.site.checks.front_end import check_front_end
from portal.site.checks.gpu_findings import LOOK_S, check_gpus
from portal.site.checks.hardening import check_hardening
from portal.site.checks.host import check_disk, check_proxy, check_versions
from portal.site.checks.login_service import check_login_service, read_secret_names
from portal.site.checks.mail_server import check_mail_server
from portal.site.checks.node_findings import check_partition
from portal.site.checks.runner import in_thread, run_checks
from portal.site.checks.slurm import (
    check_accounting,
    check_clock,
    check_partitions,
    check_private_data,
    check_slurm,
)
from portal.site.checks.sudo import check_cluster_line, check_rights
from portal.site.checks.user import check_storage
from spawner.client.command import ClusterAddress
from spawner.client.slurm import Slurm
from spawner.errors import SiteError
from spawner.options.traits import SiteTraits

TRIAL_S = 120.0


def run_site_check(arguments: argparse.Namespace) -> int:
    """Check the whole site and print a line for each finding.

    Returns:
        0 if users can have sessions, 1 if something keeps them from it.
    """
    # Findings report failures; tracebacks are for --debug.
    logging.basicConfig(level=logging.DEBUG if arguments.debug else logging.CRITICAL)
    settings = load_settings(arguments.settings)
    # Only root reads this file, and systemd for the hub.
    secret_names = read_secret_names(arguments.settings.with_name("secrets.env"))
    # Before any check: what root may read and run tells nothing of the hub.
    account = become_hub_account(settings.hub.state_dir)
    checks = select(list_checks(settings, arguments, account, secret_names), arguments.only)
    reports = asyncio.run(_run(checks, as_json=arguments.json))
    if arguments.json:
        print(json.dumps([one for report in reports for one in report.to_json()], indent=1))
    else:
        print(format_summary(reports))
    # Here `main` handles a reader that has ended, such as head; at Python's end nobody does.
    sys.stdout.flush()
    return int(any(one.grade is Grade.PROBLEM for r in reports for one in r.findings))


async def _run(checks: Sequence[Check], *, as_json: bool) -> list[Report]:
    reports = []
    # Printed as they come: a hanging file server delays its own line and those below it.
    async for report in run_checks(checks):
        reports.append(report)
        if not as_json:
            print(report.to_lines(), flush=True)
    return reports


def list_checks(
    settings: Settings,
    arguments: argparse.Namespace,
    account: str,
    secret_names: frozenset[str] | None,
) -> list[Check]:
    """Return all checks, in the order in which they are printed.

    `arguments` has `user`, `gpus` and `wait`; `account` is the hub's account; `secret_names` are
    those of `read_secret_names`.
    """
    traits = SiteTraits()
    rights = partial(
        check_rights,
        account,
        launcher=traits.launcher_argv[0],
        extender=traits.extender_argv[0],
        needs_extender=settings.extension.hours > 0,
    )
    firsts, trials = _cluster_checks(traits, settings, arguments, ClusterAddress())
    for name, (own, there) in settings.clusters.items():
        address = ClusterAddress(name=name, slurm_conf=str(own.slurm_conf))
        more_firsts, more_trials = _cluster_checks(traits, there, arguments, address)
        programs = partial(check_cluster_line, address)
        firsts += [Check(name=f"programs-{name}", run=programs), *more_firsts]
        trials += more_trials
    user = arguments.user
    return [
        Check(name="settings", run=partial(check_settings, settings, arguments.settings)),
        *firsts,
        Check(name="sudo", run=rights),
        _login_check(settings, secret_names),
        *([Check(name="user", run=partial(check_user, user))] if user else []),
        Check(name="disk", run=partial(check_disk, settings.hub)),
        Check(name="proxy", run=partial(check_proxy, settings.hub)),
        *_message_checks(settings),
        Check(name="tls", run=partial(check_front_end, settings.hub)),
        Check(name="hardening", run=partial(check_hardening, settings)),
        Check(name="versions", run=check_versions),
        *trials,
    ]


def _cluster_checks(
    traits: SiteTraits, settings: Settings, arguments: argparse.Namespace, address: ClusterAddress
) -> tuple[list[Check], list[Check]]:
    """Return the checks of a cluster, those with jobs apart; `settings` are those that hold there.

    Their names end in the cluster's, except those of the first cluster.
    """
    slurm = Slurm(
        launcher_argv=traits.launcher_argv,
        sudo_argv=traits.sudo_argv,
        address=address,
        timeout_s=settings.slurm.timeout_s,
    )
    user, end = arguments.user, f"-{address.name}" if address.name else ""
    trials = [
        Check(
            name=f"trial{end}-{partition}",
            run=partial(
                check_partition,
                slurm,
                settings,
                user=user,
                partition=partition,
                n_gpus=arguments.gpus,
                wait_s=arguments.wait,
            ),
            # After the queue: LISTEN_S to reach it, END_TIMEOUT_S for its end, and Slurm itself.
            timeout_s=arguments.wait + TRIAL_S,
        )
        for partition in settings.partitions
    ]
    gpus = [
        Check(
            name=f"gpus{end}-{partition}",
            run=partial(
                check_gpus, slurm, settings, user=user, partition=partition, wait_s=arguments.wait
            ),
            timeout_s=arguments.wait + LOOK_S,
        )
        for partition in settings.partitions
    ]
    storage = partial(check_storage, slurm, settings, user)
    return [
        Check(name=f"slurm{end}", run=partial(check_slurm, slurm)),
        Check(name=f"clock{end}", run=partial(check_clock, slurm)),
        Check(name=f"privatedata{end}", run=partial(check_private_data, slurm)),
        Check(name=f"accounting{end}", run=partial(check_accounting, slurm)),
        Check(name=f"partitions{end}", run=partial(check_partitions, slurm, settings)),
        Check(name=f"storage{end}", run=storage, timeout_s=40),
    ], [*trials, *gpus]


def _login_check(settings: Settings, secret_names: frozenset[str] | None) -> Check:
    if settings.login.is_ldap:
        return Check(name="ldap", run=partial(check_directory, settings.login))
    return Check(name="login", run=partial(check_login_service, settings, secret_names))


def _message_checks(settings: Settings) -> list[Check]:
    mail, chat = settings.mail, settings.chat
    return [
        *([Check(name="mail", run=partial(check_mail_server, mail))] if mail.server else []),
        *([Check(name="chat", run=partial(check_chat, chat))] if chat.is_offered else []),
    ]


async def check_settings(settings: Settings, path: Path) -> list[Finding]:
    """Check that this host has what the settings name."""
    found = await in_thread(lambda: site_problems(settings))
    # The settings say who may log in, and where the programs are.
    if os.stat(path).st_mode & 0o022:
        found.append(f"{path} can be changed by others than its owner. chmod go-w {path}")
    # `dsportal config check` prints each as one text; a finding has fault and cure apart.
    sentences = [one.partition(". ") for one in found]
    return [problem(f"{what.rstrip('.')}.", cure) for what, _, cure in sentences] or [
        ok(f"{path} is complete.")
    ]


def select(checks: Sequence[Check], only: Sequence[str]) -> list[Check]:
    """Return the wanted checks, in their order.

    `only` holds names, or the beginnings of names; empty for all.
    """
    for name in only:
        if not any(check.name.startswith(name) for check in checks):
            names = ", ".join(check.name for check in checks)
            raise SiteError(f"There is no check '{name}'. There are: {names}.")
    return [check for check in checks if not only or check.name.startswith(tuple(only))]


def format_summary(reports: Sequence[Report]) -> str:
    """Return the last line: the number of findings by grade."""
    grades = [one.grade for report in reports for one in report.findings]
    n_bad, n_warned, n_skipped = (
        grades.count(grade) for grade in (Grade.PROBLEM, Grade.WARNING, Grade.SKIPPED)
    )
    bad, warned = count(n_bad, "problem"), count(n_warned, "warning")
    return f"\n{count(len(grades), 'finding')}: {bad}, {warned}, {n_skipped} skipped."
