"""What deploy/site/install writes, and what it leaves alone."""

import os
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder.choices import keep_python
from deploy.environments.builder.plan import PYTHON, Flavour
from deploy.site.installer.command import (
    choose_slurm_conf,
    list_pieces,
    main,
    package_version,
    requested_site,
)
from deploy.site.installer.command import parse_arguments as parse
from deploy.site.installer.environments import Environments, list_environments
from deploy.site.installer.pieces import (
    Piece,
    account,
    file,
    folder,
    link,
    sudoers,
    users_group,
)
from deploy.site.installer.requirements import python_for
from deploy.site.installer.site import MARK, Site
from deploy.site.installer.texts import (
    first_secrets,
    first_settings,
    next_steps,
    render_units,
    text_of,
)
from portal.hub.settings.loader import load_settings
from portal.settings.s3 import S3Settings
from spawner import __version__
from spawner.settings.site import SiteSettings


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return an installation below a folder, as the account that runs the tests."""
    for name in ("etc/sudoers.d", "etc/systemd/system", "etc/logrotate.d", "usr/local/bin"):
        (tmp_path / name).mkdir(parents=True)
    return Site(
        version="1.0",
        shared=tmp_path / "shared",
        users_group="root",
        root=tmp_path,
        account="root",
    )


def files_of(site: Site) -> list[Piece]:
    """Return all pieces but the account, and the environments, whose build takes minutes."""
    pieces = (piece for piece in list_pieces(site) if not isinstance(piece, Environments))
    return [piece for piece in pieces if not piece.title.startswith("account ")]


def install(site: Site) -> list[str]:
    """Install, and return what was changed."""
    changed = []
    for piece in files_of(site):
        if piece.difference():
            piece.apply()
            changed.append(piece.title)
    return changed


needs_visudo = pytest.mark.skipif(shutil.which("visudo") is None, reason="no visudo here")


@needs_visudo
def test_a_second_run_changes_nothing(site: Site) -> None:
    assert install(site)
    assert install(site) == []


@needs_visudo
def test_what_the_site_edited_stays_and_what_is_ours_comes_back(site: Site) -> None:
    install(site)
    settings, unit = site.settings_dir / "portal.toml", site.units_dir / "dsportal-hub.service"
    settings.write_text("# ours\n")
    unit.write_text(unit.read_text() + "# by hand\n")

    assert install(site) == [str(unit)]
    assert settings.read_text() == "# ours\n"


@needs_visudo
def test_the_settings_are_there_to_be_edited_while_environments_are_built(site: Site) -> None:
    titles = [piece.title for piece in list_pieces(site)]

    built = [n for n, title in enumerate(titles) if title.startswith("environments of sessions")]
    assert titles.index(str(site.settings_dir / "portal.toml")) < built[0]


@needs_visudo
def test_another_version_leaves_the_one_in_use_alone(site: Site) -> None:
    install(site)
    newer = replace(site, version="2.0")

    install(newer)

    assert os.readlink(newer.prefix / "current") == "1.0"
    assert os.readlink(newer.prefix / "libexec") == "current/libexec"
    assert "dsportal switch 2.0" in next_steps(newer, is_new=False, n_changed=3)


@needs_visudo
def test_a_version_in_use_need_not_be_switched_to(site: Site) -> None:
    install(site)

    changed = next_steps(site, is_new=False, n_changed=1)
    unchanged = next_steps(site, is_new=False, n_changed=0)

    assert "systemctl restart dsportal-proxy dsportal-hub" in changed
    assert unchanged == "\nCheck the site:  dsportal check --user NAME"
    assert "dsportal switch" not in changed


@needs_visudo
def test_secrets_are_for_root_and_the_state_is_for_the_hub(site: Site) -> None:
    install(site)

    assert stat.S_IMODE((site.settings_dir / "secrets.env").stat().st_mode) == 0o600
    assert stat.S_IMODE(site.state_dir.stat().st_mode) == 0o700
    assert first_secrets() != first_secrets()


@needs_visudo
def test_logs_are_for_root_also_where_an_earlier_version_made_them(site: Site) -> None:
    install(site)
    log = site.log_dir / "hub.log"
    log.write_text("a password typed as a name")
    log.chmod(0o644)

    install(site)

    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert log.read_text() == "a password typed as a name"
    assert stat.S_IMODE(site.log_dir.stat().st_mode) == 0o750
    for name in ("proxy", "hub"):
        assert "UMask=0077" in render_units("a")[f"dsportal-{name}.service"].splitlines()
    assert {"    create 0600 root root", "    maxsize 100M"} <= set(
        text_of("logrotate").splitlines()
    )


def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "dsportal-hub.service"
    path.write_text("[Unit]\n")

    with pytest.raises(DeployError, match="not from this installer"):
        file(path, f"# {MARK}\n").difference()
    assert path.read_text() == "[Unit]\n"


def test_a_folder_where_a_link_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "libexec").mkdir()

    with pytest.raises(DeployError, match="another installation"):
        link(tmp_path / "libexec", "current/libexec").difference()


def test_nothing_is_changed_while_looking(tmp_path: Path) -> None:
    pieces: list[Piece] = [
        folder(tmp_path / "a"),
        file(tmp_path / "b", "x"),
        link(tmp_path / "c", "a"),
        account("nobody-of-that-name", tmp_path),
    ]

    assert all(piece.difference() for piece in pieces)
    assert list(tmp_path.iterdir()) == []


def test_a_group_that_is_not_there_is_named() -> None:
    with pytest.raises(DeployError, match="no-such-group") as caught:
        users_group("no-such-group").difference()
    assert "--users-group" in caught.value.next_step


@needs_visudo
def test_a_wrong_rule_of_sudo_never_gets_there(tmp_path: Path) -> None:
    rule = sudoers(tmp_path / "rule", "dsportal ALL=(\n")

    with pytest.raises(DeployError):
        rule.apply()
    assert list(tmp_path.iterdir()) == []


def test_the_first_settings_are_complete_and_admit_nobody(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "portal.toml"
    path.write_text(first_settings(site))

    settings = load_settings(path)

    assert not settings.login.admits_somebody
    assert settings.environments.server == site.shared / "current/environments/server"
    assert settings.storage.templates == site.shared / "current/templates"


def test_the_first_settings_offer_nothing_that_only_the_example_has(
    site: Site, tmp_path: Path
) -> None:
    path = tmp_path / "portal.toml"
    path.write_text(first_settings(site))

    settings = load_settings(path)

    assert settings.s3 == S3Settings()
    assert settings.site == SiteSettings()
    assert settings.storage.site_templates == ()
    assert settings.environments.image_binds == ()


def test_the_first_configuration_is_short_python() -> None:
    compile(text_of("jupyterhub_config"), "jupyterhub_config.py", "exec")
    assert len(text_of("jupyterhub_config").splitlines()) < 20


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """The programs they start are replaced by one that is here."""
    paths = []
    for name, text in render_units("root").items():
        path = tmp_path / name
        lines = [
            f"ExecStart=/bin/true {line.partition('=')[2]}"
            if line.startswith("ExecStart=")
            else line
            for line in text.splitlines()
        ]
        path.write_text("\n".join(lines) + "\n")
        paths.append(str(path))

    done = subprocess.run(
        ["systemd-analyze", "verify", *paths], check=False, capture_output=True, text=True
    )

    said = [
        line for line in done.stderr.splitlines() if str(tmp_path) in line or "dsportal" in line
    ]
    assert (done.returncode, said) == (0, [])


def test_a_restart_of_the_hub_touches_neither_proxy_nor_sessions() -> None:
    units = render_units("dsportal")
    proxy, hub = units["dsportal-proxy.service"], units["dsportal-hub.service"]

    assert "dsportal-hub" not in proxy
    assert "Requires=" not in hub
    assert "BindsTo=" not in hub
    # The launcher is run through sudo, and writes into the users' homes.
    assert "NoNewPrivileges" not in hub
    assert "ProtectHome" not in hub


def test_a_proxy_comes_back_however_it_ended() -> None:
    lines = render_units("dsportal")["dsportal-proxy.service"].splitlines()

    # With 2 counted as success, on-failure would leave a proxy down that somebody ended.
    assert {"SuccessExitStatus=2", "Restart=always"} <= set(lines)


def test_the_front_end_limits_bodies_for_the_hub_and_not_for_sessions() -> None:
    hub = text_of("nginx.conf").partition("location /hub/ {")[2].partition("}")[0]

    assert "client_max_body_size 1m;" in hub
    assert text_of("nginx.conf").count("client_max_body_size 512m;") == 1


def test_the_version_is_that_of_the_package_unless_named(tmp_path: Path) -> None:
    given = ["--shared", str(tmp_path / "x"), "--users-group", "users"]

    assert package_version() == __version__
    assert requested_site(parse(given)).version == __version__
    assert requested_site(parse([*given, "--version", "0.2-test"])).version == "0.2-test"


@pytest.mark.parametrize(
    "wrong",
    [
        ["--shared", "relative", "--users-group", "users"],
        ["--shared", "/tmp/x", "--users-group", "users, ALL"],
        ["--shared", "/tmp/x", "--users-group", "users", "--version", "../etc"],
        ["--shared", "/tmp/x", "--users-group", "users", "--version", "current"],
    ],
    ids=["path", "group", "version", "reserved"],
)
def test_names_that_could_do_harm_are_refused_in_words(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--check", *wrong]) == 1
    assert "What to do:" in capsys.readouterr().err


@needs_visudo
def test_a_slurm_conf_elsewhere_reaches_the_hub_and_what_sudo_starts(site: Site) -> None:
    conf = Path("/cluster/etc/slurm.conf")

    install(replace(site, slurm_conf=conf))

    told = site.settings_dir / "slurm.env"
    sudoers = site.path("/etc/sudoers.d/data-scientist-portal").read_text()
    assert f"\nSLURM_CONF={conf}\n" in told.read_text()
    assert f"Defaults:root env_file={told}\n" in sudoers
    assert (
        "EnvironmentFile=-/etc/data-scientist-portal/slurm.env"
        in render_units("a")["dsportal-hub.service"]
    )


@needs_visudo
def test_nothing_is_told_where_slurm_finds_its_file_itself(site: Site) -> None:
    install(site)

    assert not (site.settings_dir / "slurm.env").exists()
    assert "Defaults" not in site.path("/etc/sudoers.d/data-scientist-portal").read_text()


def test_slurm_conf_is_the_one_named_then_that_of_the_login_then_the_noted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted, named, of_login, earlier = (tmp_path / name for name in ("noted", "a", "b", "c"))
    for path in (named, of_login, earlier):
        path.touch()
    noted.write_text(f"# x\nSLURM_CONF={earlier}\n")
    monkeypatch.setenv("SLURM_CONF", str(of_login))

    assert choose_slurm_conf(named, noted) == named
    assert choose_slurm_conf(None, noted) == of_login
    monkeypatch.delenv("SLURM_CONF")
    assert choose_slurm_conf(None, noted) == earlier
    assert choose_slurm_conf(None, tmp_path / "none") is None
    with pytest.raises(DeployError, match="not the absolute path of a file"):
        choose_slurm_conf(tmp_path / "missing", noted)


def test_a_site_gets_frameworks_for_gpus_unless_it_says_otherwise(tmp_path: Path) -> None:
    common = ["--shared", str(tmp_path / "s"), "--users-group", "root"]

    flavours = [
        list_environments(requested_site(parse(words)))[1].plan.flavour
        for words in (common, [*common, "--cpu"])
    ]

    assert flavours == [Flavour.GPU, Flavour.CPU]


def test_a_site_chooses_its_python_once(tmp_path: Path) -> None:
    words = ["--shared", str(tmp_path / "shared"), "--users-group", "users"]
    chosen = requested_site(parse([*words, "--python", sys.executable]))
    in_use = tmp_path / "1.0"
    in_use.mkdir()
    keep_python(in_use, chosen.python)

    assert {each.plan.python for each in list_environments(chosen)} == {Path(sys.executable)}
    assert python_for(None, in_use) == Path(sys.executable)
    assert python_for(PYTHON, in_use) == PYTHON
    assert python_for(None, tmp_path / "none") == PYTHON


def test_a_python_without_locks_is_refused_before_anything_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--shared", str(tmp_path / "shared"), "--users-group", "users"]

    assert main(["--check", *words, "--python", "/bin/true"]) == 1
    assert "/bin/true is no Python that can be run." in capsys.readouterr().err


def test_a_site_may_leave_the_frameworks_out(tmp_path: Path) -> None:
    common = ["--shared", str(tmp_path / "s"), "--users-group", "root"]

    with_all = requested_site(parse(common))
    without = requested_site(parse([*common, "--without-frameworks"]))

    assert "tensorflow" in list_environments(with_all)[1].targets
    assert not {"tensorflow", "pytorch", "kernels"} & set(list_environments(without)[1].targets)
    of_sessions = list_environments(without)[1]
    assert {"server", "tensorboard", "package", "datasets", "python3"} <= set(of_sessions.targets)
    # Where root may write, and templates look.
    assert of_sessions.plan.datasets_dir == of_sessions.plan.prefix / "datasets"
