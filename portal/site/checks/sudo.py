"""Checks sudo: the hub's account may run the portal's own programs as users, and nothing else."""

import stat
from pathlib import Path

from portal.site.checks.finding import Finding, ok, problem
from spawner.client.command import ClusterAddress, run_command
from spawner.root_owned import open_to_others
from spawner.sudo_rules import SudoRule, fault_of_program, parse_rules

# Of the launcher and the extender, which nothing imports.
CLUSTERS = Path("/etc/data-scientist-portal/clusters.env")
LIST_ARGV = ("sudo", "-n", "-l")
# These include root.
_TOO_MANY = frozenset({"ALL", "root", "%root", "#0", "%#0"})


def assess_rules(
    rules: list[SudoRule], *, account: str, launcher: str, extender: str, needs_extender: bool
) -> list[Finding]:
    """Return which rules are missing, and which allow too much; at least one finding.

    `launcher` and `extender` are paths, as the rules name them. `needs_extender`: the site offers
    extensions.
    """
    findings = []
    # Without '""' the rule would allow any arguments, so such a rule is not ours.
    own = {f'{launcher} ""', f'{extender} ""'}
    allowed = {rule.command for rule in rules}
    if f'{launcher} ""' not in allowed:
        findings.append(
            problem(
                f"{account} may not run the launcher as users, so no session can start.",
                f'Add with visudo -f: {account} ALL=(%users) NOPASSWD: {launcher} ""',
            )
        )
    if needs_extender and f'{extender} ""' not in allowed:
        findings.append(
            problem(
                f"{account} may not run {extender}, so no session can be extended.",
                f'Add with visudo -f: {account} ALL=(slurm) NOPASSWD: {extender} ""'
                " or set hours = 0 in [extension].",
            )
        )
    for rule in rules:
        if rule.command not in own:
            findings.append(
                problem(
                    f"{account} may also run {rule.command} as {rule.runs_as}.",
                    "Remove that rule. The portal needs only its own two programs.",
                )
            )
        elif _is_too_wide(rule.runs_as):
            program = rule.command.removesuffix(' ""')
            narrow = "the group of the portal's users: (%GROUP)"
            if program == extender:
                narrow = "Slurm's account: (slurm)"
            findings.append(
                problem(
                    f"{account} may run {program} as {rule.runs_as}, accounts of the system"
                    " among them.",
                    f"Name only {narrow} in the rule.",
                )
            )
    return findings or [ok(f"{account} may run {_names(sorted(own & allowed))}, nothing else.")]


def _is_too_wide(runs_as: str) -> bool:
    # sudo writes users, then a colon, then groups.
    names = {name.strip() for part in runs_as.split(":") for name in part.split(",")}
    return bool(names & _TOO_MANY)


def _names(commands: list[str]) -> str:
    return " and ".join(Path(command.split()[0]).name for command in commands)


async def check_rights(
    account: str, *, launcher: str, extender: str, needs_extender: bool
) -> list[Finding]:
    """Check the sudo rules and the programs that they name.

    This runs as `account`, the hub's account. `launcher` and `extender` are paths, as the rules
    name them.
    """
    done = await run_command(LIST_ARGV, timeout_s=10)
    # Without any rule sudo asks for a password, or says that there is none.
    findings = assess_rules(
        parse_rules(done.stdout),
        account=account,
        launcher=launcher,
        extender=extender,
        needs_extender=needs_extender,
    )
    if fault := fault_of_program(Path(launcher), "Run deploy/site/install again."):
        findings.append(problem(*fault))
    return findings


async def check_cluster_line(address: ClusterAddress) -> list[Finding]:
    """Check that the programs of sudo know a further cluster, by the hub's own slurm.conf."""
    path, line = CLUSTERS, f"{address.name}={address.slurm_conf}"
    # The launcher runs as users, and so do Slurm's commands in it.
    for file in (path, Path(address.slurm_conf)):
        if file.exists() and not file.stat().st_mode & stat.S_IROTH:
            return [
                problem(
                    f"Users cannot read {file}, so no session can start on this cluster.",
                    f"chmod o+r {file}",
                )
            ]
    if not path.exists() or line not in path.read_text().splitlines():
        return [
            problem(
                f"{path} has no line {line}, so no session can start on this cluster.",
                f"As root: echo {line} >> {path}",
            )
        ]
    if (open_path := open_to_others(path)) is not None:
        return [problem(f"{open_path} can be changed by others.", f"chown root:root {open_path}")]
    return [ok(f"the launcher has {address.slurm_conf}, too.")]
