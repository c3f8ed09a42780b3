"""The site's own packages: in each version of the portal, and as extensions of JupyterLab."""

import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.environments.builder.environment import install_environment, installed_packages
from deploy.environments.builder.extras import extras_path
from deploy.environments.builder.package_sources import SETTING
from deploy.environments.builder.plan import PYTHON, Plan
from portal.hub.settings.loader import load_settings
from portal.site.commands.upgrade import plan_switch, turn_links
from tests.support.locks import lock_path, own_locks
from tests.support.wheels import make_wheel

SETTINGS = """\
[hub]
address = "127.0.0.1"

[login]
servers = ["ldap://127.0.0.1"]
ca_certificates = "/etc/ssl/certs/ca-certificates.crt"
user_dn_template = ["uid={{username}},dc=portal,dc=example"]

[environments]
server = "{prefix}/current/environments/server"

[partitions.jupyter]
"""
LABEXTENSION = "share/jupyter/labextensions/tiny-lab"


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """What an installer passes to the builder, with empty locks and a folder of wheels."""
    plan = Plan(
        prefix=tmp_path / "portal/1",
        log_dir=tmp_path / "log",
        settings_dir=tmp_path / "etc",
        source_dir=tmp_path,
    )
    for folder in (plan.log_dir, plan.settings_dir, tmp_path / "wheels"):
        folder.mkdir(parents=True)
    make_wheel(tmp_path / "wheels", "ours", "1.0", "")
    own_locks(plan, monkeypatch)
    for name in ("hub", "server"):
        lock_path(plan, name).write_text("# Nothing but what the site adds.\n")
    monkeypatch.setenv(SETTING, str(tmp_path / "wheels"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    return plan


def build(plan: Plan, *names: str) -> None:
    """Build environments of a version as deploy/site/install does."""
    plan.environment("uv").parent.mkdir(parents=True)
    plan.environment("uv").symlink_to(Plan().environment("uv"))
    for name in names:
        # The builder takes an environment that is there; its own has pip, which takes longest.
        bare = [PYTHON, "-m", "venv", "--without-pip", plan.environment(name)]
        subprocess.run(bare, check=True, timeout=60)
        install_environment(plan, name, sys.stderr)


def test_they_are_there_after_a_switch_to_another_version_and_back(plan: Plan) -> None:
    for name in ("hub", "server"):
        extras_path(plan, name).write_text("ours\n")
    versions = plan.prefix.parent
    settings = plan.settings_dir / "portal.toml"
    settings.write_text(SETTINGS.format(prefix=versions))
    for version in ("1", "2"):
        build(replace(plan, prefix=versions / version), "hub", "server")
    (versions / "current").symlink_to("1")

    for version in ("2", "1"):
        turn_links(plan_switch(load_settings(settings), version, prefix=versions))

        assert (versions / "current").readlink() == Path(version)
        for name in ("hub", "server"):
            found = installed_packages(plan, versions / "current/environments" / name)
            assert found["ours"] == "1.0", (version, name)


def test_an_extension_of_jupyterlab_is_enabled_in_sessions(plan: Plan) -> None:
    make_labextension(plan.source_dir / "wheels")
    extras_path(plan, "server").write_text("tiny_lab\n")
    build(plan, "server")
    server = plan.environment("server")
    # JupyterLab itself is that of this machine's environment, which takes minutes to install.
    (library,) = server.glob("lib/python3.*/site-packages")
    (libraries,) = Plan().environment("server").glob("lib/python3.*/site-packages")
    (library / "jupyterlab.pth").write_text(f"{libraries}\n")

    listed = subprocess.run(
        [server / "bin/python", "-m", "jupyterlab.labextensions", "list"],
        env={"HOME": str(plan.source_dir), "PATH": "/usr/bin:/bin"},
        cwd=plan.source_dir,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    said = listed.stdout + listed.stderr
    assert str(server / "share/jupyter/labextensions") in said
    (line,) = (line for line in said.splitlines() if "tiny-lab" in line)
    assert "v1.0" in line
    assert "enabled" in line
    assert "OK" in line


def make_labextension(folder: Path) -> None:
    """Write the wheel of a prebuilt extension, as the template of JupyterLab lays it out."""
    info, data = "tiny_lab-1.0.dist-info", f"tiny_lab-1.0.data/data/{LABEXTENSION}"
    package = {
        "name": "tiny-lab",
        "version": "1.0.0",
        "jupyterlab": {
            "extension": True,
            "_build": {"load": "static/remoteEntry.js", "extension": "./extension"},
        },
    }
    files = {
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tiny_lab\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{data}/package.json": json.dumps(package),
        f"{data}/static/remoteEntry.js": "var _JUPYTERLAB;",
        f"{data}/install.json": json.dumps({"packageManager": "python", "packageName": "tiny"}),
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / "tiny_lab-1.0-py3-none-any.whl", "w") as wheel:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(path, text)
