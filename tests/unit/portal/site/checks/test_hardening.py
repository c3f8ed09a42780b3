"""What is made of files that neighbours could read, and of a directory asked only once."""

import stat
from dataclasses import replace
from pathlib import Path

from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Grade
from portal.site.checks.hardening import assess_leaving, assess_modes


def test_a_file_that_others_read_is_a_problem_with_its_command() -> None:
    modes = {Path("/x/hub.log"): stat.S_IFREG | 0o644, Path("/x/hub"): stat.S_IFDIR | 0o700}

    (finding,) = assess_modes(modes)

    assert finding.grade is Grade.PROBLEM
    assert finding.sentence == "/x/hub.log is open to others (-rw-r--r--)."
    assert finding.cure == "chmod go= /x/hub.log"
    assert assess_modes({Path("/x"): 0o700})[0].grade is Grade.OK


def test_a_directory_that_is_asked_only_once_is_told(settings: Settings) -> None:
    reader = replace(settings.login, reader_dn="cn=reader,dc=portal,dc=example")

    assert assess_leaving(settings.login).grade is Grade.WARNING
    assert assess_leaving(reader).grade is Grade.OK
