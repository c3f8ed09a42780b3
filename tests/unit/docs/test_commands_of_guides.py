"""Every command that a guide shows is run by a test, or it is said here why not."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
# The changelog names commands of the past.
GUIDES = sorted(
    path
    for path in (*CHECKOUT.glob("*.md"), *CHECKOUT.glob("docs/**/*.md"))
    if path.name != "CHANGELOG.md"
)
PROGRAM = re.compile(
    r"(?:\w+=\S+ )*(?:\S*/)?"
    # Not the rules of sudo for the account of that name.
    r"(?:deploy/\S+|tests/run|dsportal(?! ALL=)|podman|ansible-playbook|systemctl|sacctmgr|sbatch"
    r"|squeue|sinfo|git|gpg|ssh-keygen|sha256sum|curl|echo|export|pip|python3?|apt-get|dnf|npm|rm"
    r"|userdel)(?: |$)"
)
FENCE = re.compile(r"^```(?P<how>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)
# Tests that run the blocks "sh run" of a page, one after the other.
FOLLOWED = {
    **dict.fromkeys(
        ("install/cluster.md", "install/tls.md", "operate/backup.md", "install/uninstall.md"),
        "tests/lab/foreign/test_site.py",
    ),
    "install/own-hub.md": "tests/lab/alone/test_own_hub.py",
    "tutorial/container.md": "tests/lab/container/test_container.py",
    "use/programs.md": "tests/sessions/test_rest_clients.py",
    **dict.fromkeys(("use/batch-jobs.md", "use/packages.md"), "tests/templates/test_guide.py"),
}


@dataclass(frozen=True, slots=True)
class RunBy:
    """Commands that a test runs with values of its own.

    Attributes:
        word: What of the command can be read in that file.
    """

    pattern: str
    file: str
    word: str


RUN = (
    RunBy(r"deploy/up", "tests/command.py", '"deploy/up"'),
    RunBy(r"deploy/(up|down) --only hub", "tests/support/parts.py", '"--only"'),
    RunBy(r"deploy/up --offline-nodes", "tests/deploy/test_gateway.py", '"--offline-nodes"'),
    RunBy(r"deploy/up --hubs 2", "tests/deploy/test_several_hubs.py", '"--hubs", "2"'),
    RunBy(r"deploy/up --foreground", "Containerfile", '"--foreground"'),
    RunBy(r"deploy/down", "tests/lab/platforms/test_debian.py", "deploy/down"),
    RunBy(
        r"deploy/environments/build \w+",
        "tests/deploy/test_environments.py",
        'PLAN.recipes_dir / "build"',
    ),
    RunBy(r"deploy/release .*", "tests/lab/packages/release_files.py", '"deploy/release"'),
    RunBy(r"sha256sum .*", "tests/lab/packages/test_release.py", '"sha256sum", "--check"'),
    RunBy(r"ansible-playbook .*", "tests/programs/deploy/site/test_ansible.py", "PLAYBOOK"),
    RunBy(r"deploy/site/install --(check|version .*) .*", "tests/lab/foreign/site.py", "INSTALL"),
    RunBy(
        r"deploy/site/install --check .*", "tests/lab/packages/test_distributions.py", '"--check"'
    ),
    RunBy(r"dsportal switch [\d.]+", "tests/lab/packages/test_session.py", '"switch"'),
    RunBy(r"dsportal switch .* --database COPY", "tests/slurm/test_upgrade.py", '"--database"'),
    RunBy(r"dsportal users (list|remove ada)", "tests/hub/test_operations.py", '"users", "list"'),
    RunBy(r"dsportal users move .*", "tests/deploy/test_several_hubs.py", '"users", "move"'),
    RunBy(r"dsportal usage.*", "tests/hub/test_operations.py", '"usage"'),
    RunBy(r"dsportal check", "tests/slurm/test_site_check.py", '"check"'),
    RunBy(r"dsportal check --json --only \w+", "tests/slurm/test_site_check.py", '"--only"'),
    RunBy(r"dsportal sweep (new|show|stop) .*", "tests/sessions/test_laptop.py", '"sweep", "new"'),
    RunBy(r"dsportal status", "tests/hub/test_operations.py", '"status"'),
    RunBy(r"dsportal (un)?drain.*", "tests/hub/test_operations.py", '"drain"'),
    RunBy(r"dsportal sessions stop .*", "tests/hub/test_operations.py", '"sessions", "stop"'),
    RunBy(r"echo .*extra-server.txt", "tests/deploy/test_site_packages.py", "extra"),
    RunBy(r"echo volta=.*clusters\.env", "tests/slurm/conftest.py", "CLUSTERS.write_text"),
    RunBy(r"curl -LO .*/dsportal\.pyz", "tests/support/laptop.py", "/hub/help/dsportal.pyz"),
    RunBy(r"python3 dsportal\.pyz setup .*", "tests/support/laptop.py", '"setup"'),
    RunBy(r"python3 dsportal\.pyz login .*", "tests/sessions/test_laptop.py", '"login"'),
    RunBy(
        r"dsportal (start|logs|stop)( --.*)?", "tests/sessions/test_laptop.py", '"logs", "--follow"'
    ),
    RunBy(r"dsportal job new train\.ipynb .*", "tests/sessions/test_laptop.py", '"job", "new"'),
    RunBy(r"dsportal setup https://.*", "tests/support/laptop.py", '"setup"'),
    RunBy(r"dsportal job new digits\.ipynb", "tests/sessions/test_laptop.py", '"job", "new"'),
    RunBy(r"dsportal ssh cp .*", "tests/sessions/test_laptop.py", '"ssh", "dsportal"'),
    RunBy(r"dsportal cp (photos :data/|':digits\*' \.)", "tests/sessions/test_ssh.py", '"cp"'),
    RunBy(
        r"dsportal completion > .*", "tests/programs/dsportal/laptop/test_completion.py", "completi"
    ),
    RunBy(r"squeue", "tests/slurm/conftest.py", '"squeue"'),
    RunBy(
        r"dsportal environments (new|add|check|remove) ?.*",
        "tests/programs/portal/environments/test_new_commands.py",
        "environments",
    ),
)
# Pattern of commands, and why no test runs them.
NOT_RUN = {
    r"tests/run ?.*": "it would run itself; what it starts is all tests",
    r"deploy/down --purge": "it removes the environments that all tests share",
    r"deploy/up --without mlflow": "the same steps but one, and it would leave what is there",
    r"podman (build|run) .*": "other forms of what container.md has as blocks that are run",
    r"export PORTAL=.*": "the address and the token are the reader's",
    r"git clone \.\.\. .*": "the address of the repository is the reader's",
    r'DSPORTAL_PACKAGES="https://mirror\.example\.com/simple" .*': "there is no such mirror",
    r"deploy/site/install \.\.\.": "cut short; the whole command is run",
    r"sacctmgr add user dsportal .*": "the same with -i is run",
    r"git (commit --all|tag --sign) .*": "git's own; only who releases has the key",
    r"(gpg|ssh-keygen -Y verify) .*": "the same",
    r"python3 -m pip download .*NAME\.txt": "gigabytes; was run by hand",
    r"npm_config_cache=/srv/npm .*": "the same",
    r"export DSPORTAL_PACKAGES=/srv/wheels .*": "the same",
    r"dsportal check --user ada --only gpus .*": "a short form of the check that is run",
}


def shown(page: Path) -> dict[str, bool]:
    """Return each command of a page, and whether it is in a block that a test follows."""
    text = page.read_text(encoding="utf-8")
    found = {
        command: how == "sh run"
        for how, block in FENCE.findall(text)
        if how.startswith(("sh", "bash", "console"))
        for command in _commands(block)
    }
    indented = re.findall(r"(?:^ {4,}\S.*\n)+", FENCE.sub("", text), re.M)
    return {**{command: False for block in indented for command in _commands(block)}, **found}


def _commands(block: str) -> list[str]:
    lines = [line.strip() for line in block.replace("\\\n", " ").splitlines()]
    without_comments = (re.sub(r"\s+# .*", "", line) for line in lines)
    return [" ".join(line.split()) for line in without_comments if PROGRAM.match(line)]


def short(command: str) -> str:
    """Return a command without the folder of its version."""
    return re.sub(r"^\S*/bin/(?=dsportal )", "", command)


COMMANDS = {page: shown(page) for page in GUIDES}
LEFT = {
    short(command)
    for commands in COMMANDS.values()
    for command, is_followed in commands.items()
    if not is_followed
}
# What a page shows again as an example need not be listed.
ALSO_FOLLOWED = {
    command for commands in COMMANDS.values() for command, followed in commands.items() if followed
}


def test_every_command_is_run_by_a_test_or_has_a_reason_why_not() -> None:
    patterns = [*(one.pattern for one in RUN), *NOT_RUN]
    unknown = [
        command
        for command in sorted(LEFT - ALSO_FOLLOWED)
        if not any(re.fullmatch(pattern, command) for pattern in patterns)
    ]

    assert unknown == [], "add a test, or the reason why there is none"


def test_no_entry_is_left_of_a_command_that_no_guide_shows() -> None:
    patterns = [*(one.pattern for one in RUN), *NOT_RUN]

    assert [p for p in patterns if not any(re.fullmatch(p, one) for one in LEFT)] == []


@pytest.mark.parametrize("entry", RUN, ids=lambda entry: entry.pattern)
def test_the_test_that_is_said_to_run_a_command_names_it(entry: RunBy) -> None:
    assert entry.word in (CHECKOUT / entry.file).read_text(encoding="utf-8")


def test_a_page_with_blocks_to_be_run_has_a_test_that_follows_it() -> None:
    followed = [page for page, commands in COMMANDS.items() if any(commands.values())]
    pages = {str(page.relative_to(CHECKOUT / "docs")) for page in followed}

    assert pages == set(FOLLOWED)
    assert all((CHECKOUT / file).is_file() for file in FOLLOWED.values())
