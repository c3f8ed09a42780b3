"""Checks what this host lets a user do: run the launcher, use home and shared storage."""

from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Finding, Grade, ok, skipped
from spawner.client.slurm import Slurm


async def check_storage(slurm: Slurm, settings: Settings, user: str) -> list[Finding]:
    """Check home, shared storage and notebook server on this host, as a user.

    An empty `user` skips the check.
    """
    if not user:
        return [skipped("nothing was tried as a user.", "Name one: --user NAME.")]
    preflight = settings.start_checks
    checks = preflight.request()
    if not checks:
        return [skipped("every check of [preflight] is off.")]
    answer = await slurm.launcher.order(user, {"verb": "storage_checks", "checks": checks})
    findings = []
    for name, found in answer["checks"].items():
        if fault := str(found.get("fault", "")):
            diagnosis = preflight.explain(name, found)
            grade = Grade.PROBLEM if preflight.refuses(name) else Grade.WARNING
            findings.append(
                Finding(
                    grade=grade,
                    sentence=f"as {user}, on this host: {diagnosis.sentence}",
                    cure=_CURES.get(
                        _NO_HOME if (name, fault) == ("home", "missing") else fault,
                        "Look at the file server and its mount.",
                    ),
                )
            )
    seen = ", ".join(name.partition(":")[2] or name for name in answer["checks"])
    return findings or [ok(f"the launcher works as {user}; {seen} too.")]


_NO_HOME = "no home"
_CURES = {
    _NO_HOME: "Make it, with the user as its owner, or let pam_mkhomedir do so at logins by ssh.",
    "failed": "This is a fault of the portal: report it with this line.",
    "full": "Free space, or raise the quota. min_free_mib in [preflight] is the limit.",
    "missing": 'Correct the path in the settings, or set its check in [preflight] to "off".',
    "unmounted": "Mount it on this host, or set isilon_is_mount in [preflight], or is_mount in"
    " [storage.NAME], to false.",
}
