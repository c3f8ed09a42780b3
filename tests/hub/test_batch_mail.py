"""Slurm's own mail about jobs, through a real mail server to the address that the portal knows."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from tests.hub.private_slapd import Authority
from tests.hub.private_smtpd import DOMAIN, Smtpd, running_smtpd
from tests.sessions.test_laptop import NOTEBOOK
from tests.support.eventually import eventually, throughout
from tests.support.parts import slurm_setting

pytestmark = pytest.mark.cluster

USER = "ada"
COMMAND = Path("/opt/data-scientist-portal/environments/server/commands/dsportal")
# As mail(1): the subject behind -s, then whom it is for.
MAIL_PROGRAM = """\
#!{python}
import smtplib, ssl, sys
from email.message import EmailMessage
message = EmailMessage()
message["From"] = "slurm@{domain}"
message["To"] = sys.argv[-1]
message["Subject"] = sys.argv[sys.argv.index("-s") + 1]
with smtplib.SMTP("127.0.0.1", {port}) as server:
    server.starttls(context=ssl.create_default_context(cafile="{ca}"))
    server.send_message(message)
"""


@pytest.fixture(scope="module")
def smtpd(authority: Authority) -> Iterator[Smtpd]:
    with running_smtpd(authority) as server:
        # Where Slurm's account reads it.
        ca = Path(shutil.copy(authority.certificate, server.folder / "ca.pem"))
        program = server.folder / "mail"
        words = {"python": "/usr/bin/python3", "domain": DOMAIN, "port": server.port, "ca": ca}
        program.write_text(MAIL_PROGRAM.format(**words))
        program.chmod(0o755)
        ca.chmod(0o644)
        server.folder.chmod(0o755)
        with slurm_setting(f"MailProg={program}"):
            yield server


@pytest.fixture
def notebook() -> Iterator[Path]:
    path = Path(f"/home/{USER}/batch-mail.ipynb")
    cells = [*NOTEBOOK["cells"][:1], {**NOTEBOOK["cells"][1], "source": "1 / lr"}]
    path.write_text(json.dumps({**NOTEBOOK, "cells": cells}))
    shutil.chown(path, USER)
    yield path
    runs = path.parent / "portal-runs"
    for each in (
        *path.parent.glob("batch-mail*"),
        *runs.glob("*-batch-mail-*"),
        *runs.glob("sweeps/batch-mail*"),
    ):
        shutil.rmtree(each) if each.is_dir() else each.unlink()


def submitted(kind: str, *words: str | Path) -> str:
    """Run `dsportal job new` or `dsportal sweep new`, and return the id of its job."""
    environ = {"PORTAL_MAIL_ADDRESS": f"ada.lovelace@{DOMAIN}", "HOME": f"/home/{USER}"}
    done = subprocess.run(
        ["runuser", "-u", USER, "--", COMMAND, kind, "new", "--mail", "--hours=0.1", *words],
        env={"PATH": os.environ["PATH"], **environ},
        cwd=f"/home/{USER}",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    (job,) = re.findall("as job ([0-9]+)", done.stdout)
    return str(job)


def test_who_wants_it_reads_in_mail_that_a_notebook_has_ended(smtpd: Smtpd, notebook: Path) -> None:
    job = submitted("job", notebook, "-p", "lr=1")

    (mail,) = eventually(lambda: about(job, smtpd), 120)

    assert f"Job_id={job} " in mail["Subject"]
    assert "Ended" in mail["Subject"]


def test_a_sweep_has_one_mail_that_says_whether_all_its_points_ended_well(
    smtpd: Smtpd, notebook: Path
) -> None:
    one_at_a_time = ("--at-once=1", "--as=batch-mail")
    job = submitted("sweep", "-p", "lr=0", "-p", "lr=1", *one_at_a_time, notebook)

    (mail,) = eventually(lambda: about(job, smtpd), 180)

    # Of both points, although the first one had failed before the second one began.
    assert f"Job_id={job}_* " in mail["Subject"]
    assert "Failed, Mixed, ExitCode [0-1]" in mail["Subject"]
    throughout(lambda: len(about(job, smtpd)) == 1, 15)


def about(job: str, smtpd: Smtpd) -> list[EmailMessage]:
    """Return ada's mail about a job or one of its tasks."""
    return [mail for mail in smtpd.mail_to("ada.lovelace") if f"Job_id={job}" in mail["Subject"]]
