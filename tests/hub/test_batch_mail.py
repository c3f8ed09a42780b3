"""Slurm's own mail about jobs, through a real mail server to the address that the portal knows."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.private_slapd import Authority
from tests.hub.private_smtpd import DOMAIN, Smtpd, running_smtpd
from tests.hub.test_laptop import NOTEBOOK
from tests.support.eventually import eventually
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
    path.write_text(json.dumps(NOTEBOOK))
    shutil.chown(path, USER)
    yield path
    for each in (*path.parent.glob("batch-mail*"), *path.parent.glob("portal-runs/*-batch-mail-*")):
        shutil.rmtree(each) if each.is_dir() else each.unlink()


def test_who_wants_it_reads_in_mail_that_a_notebook_has_ended(smtpd: Smtpd, notebook: Path) -> None:
    order = ("job", "new", "--submit", "--mail", "--hours=0.1", str(notebook))
    environ = {"PORTAL_MAIL_ADDRESS": f"ada.lovelace@{DOMAIN}", "HOME": f"/home/{USER}"}
    done = subprocess.run(
        ["runuser", "-u", USER, "--", COMMAND, *order],
        env={"PATH": os.environ["PATH"], **environ},
        cwd=notebook.parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    (job,) = re.findall("runs as job ([0-9]+)", done.stdout)

    (mail,) = eventually(lambda: smtpd.mail_to("ada.lovelace"), 120)

    assert f"Job_id={job} " in mail["Subject"]
    assert "Ended" in mail["Subject"]
