"""What a check makes of what it saw."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from portal.hub.settings.hub import HubSettings
from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Finding, Grade
from portal.site.checks.front_end import assess_end, assess_way_in
from portal.site.checks.host import check_disk, probe_versions
from portal.site.checks.slurm import (
    assess_accounting,
    assess_clock,
    assess_offer,
    assess_patience,
    assess_release,
)
from portal.site.checks.sudo import assess_rules
from spawner.client.visibility import parse_config
from spawner.slurm.catalog import Catalog, Partition
from spawner.sudo_rules import parse_rules

LAUNCHER = "/opt/data-scientist-portal/libexec/dsportal-launcher"
EXTENDER = "/opt/data-scientist-portal/libexec/dsportal-extender"
SUDO_L = f"""\
Matching Defaults entries for dsportal on head:
    env_reset, mail_badpass, secure_path=/usr/local/sbin\\:/usr/local/bin

User dsportal may run the following commands on head:
    (%users) NOPASSWD: {LAUNCHER} ""
    (slurm) NOPASSWD: {EXTENDER} ""
"""


def judge(text: str, *, needs_extender: bool = True) -> list[Finding]:
    return assess_rules(
        parse_rules(text),
        account="dsportal",
        launcher=LAUNCHER,
        extender=EXTENDER,
        needs_extender=needs_extender,
    )


def words(findings: list[Finding]) -> str:
    return " ".join(f"{one.grade.value} {one.sentence} {one.cure}" for one in findings)


def test_the_two_rules_of_the_portal_are_in_order() -> None:
    (finding,) = judge(SUDO_L)

    assert finding.grade is Grade.OK


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("    (ALL : ALL) NOPASSWD: ALL\n", "may also run ALL as ALL : ALL"),
        ("    (root) /usr/bin/apt\n", "may also run /usr/bin/apt as root"),
        *(
            (f'    ({runs_as}) NOPASSWD: {program} ""\n', f"run {program} as {runs_as}")
            for program in (LAUNCHER, EXTENDER)
            for runs_as in ("ALL", "ALL : ALL", "root", "root, ada", "%users, root", "ada : root")
        ),
        (f'    (#0) NOPASSWD: {LAUNCHER} ""\n', "as #0"),
        (f'    (%root) NOPASSWD: {LAUNCHER} ""\n', "as %root"),
        (f'    (%#0) NOPASSWD: {LAUNCHER} ""\n', "as %#0"),
        (f"    (%users) NOPASSWD: {LAUNCHER}\n", f"may also run {LAUNCHER} as %users"),
    ],
)
def test_a_rule_that_allows_more_is_a_problem(extra: str, said: str) -> None:
    findings = judge(SUDO_L + extra)

    assert said in words(findings)
    assert all(one.grade is Grade.PROBLEM and one.cure for one in findings)


def test_missing_rules_are_named_with_the_line_to_add() -> None:
    findings = judge("sudo: a password is required")

    assert f'NOPASSWD: {LAUNCHER} ""' in words(findings)
    assert f'NOPASSWD: {EXTENDER} ""' in words(findings)
    assert len(judge("", needs_extender=False)) == 1


@pytest.mark.parametrize(
    ("version", "grade"),
    [
        ("21.08.8", Grade.PROBLEM),
        ("22.05.8", Grade.OK),
        ("25.11.1", Grade.OK),
        ("26.05.0", Grade.WARNING),
        ("", Grade.WARNING),
    ],
)
def test_releases_of_slurm(version: str, grade: Grade) -> None:
    assert assess_release(version)[0].grade is grade


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("300 sec", ""),
        ("120 sec", ""),
        ("0 sec", ""),
        ("", ""),
        ("20 sec", "Set SlurmdTimeout=300"),
    ],
)
def test_a_slurm_that_gives_nodes_up_within_a_minute_is_a_warning(text: str, said: str) -> None:
    findings = assess_patience({"SlurmdTimeout": text})

    assert [one.grade for one in findings] == [Grade.WARNING] * bool(said)
    assert said in words(findings)


@pytest.mark.parametrize(
    ("ahead_s", "grade", "said"),
    [
        (0.0, Grade.OK, "same time"),
        (7200.0, Grade.WARNING, "7200 s ahead of slurmctld's"),
        (-60.0, Grade.WARNING, "60 s behind slurmctld's"),
        (None, Grade.SKIPPED, "does not say"),
    ],
)
def test_a_clock_that_differs_from_slurms_is_a_warning(
    ahead_s: float | None, grade: Grade, said: str
) -> None:
    findings = assess_clock(ahead_s)

    assert [one.grade for one in findings] == [grade]
    assert said in words(findings)


def test_accounting_without_gpus_or_without_a_database_is_a_warning() -> None:
    config = parse_config(
        "AccountingStorageType   = accounting_storage/slurmdbd\n"
        "AccountingStorageTRES   = cpu,mem,gres/gpu\nSLURM_VERSION           = 22.05.8\n"
    )

    assert config["SLURM_VERSION"] == "22.05.8"
    assert assess_accounting(config)[0].grade is Grade.OK
    assert "gres/gpu" in words(assess_accounting(config | {"AccountingStorageTRES": "cpu,mem"}))
    assert "slurm.conf" in words(assess_accounting({}))


def test_a_partition_and_a_gpu_type_that_slurm_lacks_are_problems(settings: Settings) -> None:
    other = Partition(name="batch", is_default=True, is_up=True, max_walltime_s=None, nodes=())

    findings = assess_offer(Catalog(partitions={"batch": other}), settings)

    assert "Slurm has: batch" in words(findings)
    assert "the GPU type v100 is offered" in words(findings)
    assert all(one.grade is Grade.PROBLEM for one in findings)


@pytest.mark.parametrize(
    ("days", "grade"), [(-1, Grade.PROBLEM), (5, Grade.WARNING), (90, Grade.OK)]
)
def test_certificates_warn_before_they_expire(days: int, grade: Grade) -> None:
    end = datetime.now(UTC) + timedelta(days=days)

    assert assess_end("https://portal.example.com", end).grade is grade


async def test_a_disk_without_space_for_the_hub_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = HubSettings(address="10.77.0.1", state_dir=tmp_path)
    monkeypatch.setattr("portal.site.checks.host.LEAST_FREE_MIB", 0)
    (enough,) = await check_disk(hub)
    monkeypatch.setattr("portal.site.checks.host.LEAST_FREE_MIB", 10**9)
    (little,) = await check_disk(hub)

    assert (enough.grade, little.grade) == (Grade.OK, Grade.PROBLEM)
    assert f"MiB are free under {tmp_path}" in little.sentence


def test_packages_that_differ_from_their_pins_are_named(tmp_path: Path) -> None:
    here = f"PyTest[extra]=={pytest.__version__}\n"
    (tmp_path / "pins.txt").write_text(f"# head\n{here}")
    assert probe_versions(tmp_path).grade is Grade.OK

    (tmp_path / "pins.txt").write_text(f"{here}traitlets==0.1\nnot-there==2.1.9\n")

    found = probe_versions(tmp_path)
    assert found.grade is Grade.WARNING
    assert "traitlets is " in found.sentence
    assert "not-there is missing, not 2.1.9." in found.sentence


@pytest.mark.parametrize(
    ("address", "public_url", "trusted", "words"),
    [
        ("127.0.0.1", "", (), []),
        ("::1", "https://portal.example.com", ("127.0.0.1",), []),
        ("localhost", "http://portal.example.com", (), []),
        ("0.0.0.0", "", (), ["port 8000 is open on 0.0.0.0 without TLS"]),
        ("portal.example.com", "", (), ["open on portal.example.com"]),
        ("127.0.0.1", "https://portal.example.com", (), ["all seem to come from its front end"]),
        (
            "::",
            "https://portal.example.com",
            (),
            ["open on ::", "wrong passwords of one slow down"],
        ),
    ],
)
def test_a_way_in_without_tls_and_a_front_end_without_a_name_are_warnings(
    address: str, public_url: str, trusted: tuple[str, ...], words: list[str]
) -> None:
    hub = HubSettings(
        address="10.77.0.1",
        public_address=address,
        public_url=public_url,
        trusted_proxies=trusted,
    )

    found = assess_way_in(hub)

    assert len(found) == len(words)
    for finding, said in zip(found, words, strict=True):
        assert finding.grade is Grade.WARNING
        assert said in finding.sentence
        assert finding.cure
