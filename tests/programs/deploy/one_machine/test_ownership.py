"""What deploy/up takes for its own, and what it leaves to the machine."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.one_machine import name_service, packages, removal, slurm, storage
from deploy.one_machine.layout import MARK

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="marks belong to root")


@pytest.fixture
def isilon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "isilon"
    monkeypatch.setattr(storage, "ISILON_DIR", path)
    monkeypatch.setattr(storage, "PROJECTS_DIR", path / "projects")
    monkeypatch.setattr(storage, "MADE_HERE", path / storage.MADE_HERE.name)
    return path


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "policy-rc.d"
    monkeypatch.setattr(packages, "POLICY", path)
    return path


@pytest.fixture
def nslcd_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "nslcd"
    path.mkdir()
    monkeypatch.setattr(name_service, "RUN_DIR", path)
    monkeypatch.setattr(name_service, "MADE_HERE", path / name_service.MADE_HERE.name)
    monkeypatch.setattr(name_service, "pid_of", lambda name: None)
    return path


@pytest.fixture
def listener(nslcd_dir: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(nslcd_dir / "socket"))
        server.listen()
        yield server


def test_shared_storage_that_was_made_here_is_removed(isilon: Path) -> None:
    storage.ensure_storage()
    (isilon / "datasets").mkdir()
    assert [path.name for path in isilon.glob("[!.]*")] == ["datasets"]

    storage.remove_storage()

    assert not isilon.exists()


def test_shared_storage_of_the_site_stays(isilon: Path) -> None:
    (isilon / "projects").mkdir(parents=True)
    assert storage.ensure_storage() == "unchanged"

    storage.remove_storage()

    assert list(isilon.iterdir()) == []


def test_only_the_configuration_of_slurm_that_was_made_here_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "SLURM_DIR", tmp_path)
    for name in slurm.CONFIGURATION:
        (tmp_path / name).write_text(f"# {MARK}\nClusterName=demo\n")
    foreign = tmp_path / slurm.CONFIGURATION[0]
    foreign.write_text("ClusterName=of-the-site\n")
    (tmp_path / "topology.conf").write_text("of the site")

    removal.remove_slurm_configuration()

    assert foreign.read_text() == "ClusterName=of-the-site\n"
    assert sorted(tmp_path.iterdir()) == sorted([foreign, tmp_path / "topology.conf"])


def test_only_packages_that_will_be_installed_get_answers() -> None:
    assert packages.answers_for(["slapd", "munge"]) == (
        "slapd slapd/no_configuration boolean true\n"
    )
    assert packages.answers_for(["munge"]) == ""


def test_no_daemon_may_start_only_while_packages_are_installed(policy: Path) -> None:
    with packages.no_daemon_starts():
        assert policy.read_text().endswith("exit 101\n")
        assert os.access(policy, os.X_OK)

    assert not policy.exists()


def test_the_rule_that_a_killed_run_left_is_taken_away(policy: Path) -> None:
    policy.write_text(packages.POLICY_TEXT)

    with packages.no_daemon_starts():
        assert policy.exists()

    assert not policy.exists()


def test_the_machines_own_rule_about_daemons_stays(policy: Path) -> None:
    policy.write_text("#!/bin/sh\nexit 101\n")

    with packages.no_daemon_starts():
        pass
    packages.remove_policy()

    assert policy.read_text() == "#!/bin/sh\nexit 101\n"


@pytest.mark.usefixtures("listener")
def test_a_machine_with_an_nslcd_of_its_own_is_refused(nslcd_dir: Path) -> None:
    with pytest.raises(DeployError, match=f"listens in {nslcd_dir}"):
        name_service.refuse_foreign_nslcd()


@pytest.mark.usefixtures("listener")
def test_our_own_nslcd_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_service, "pid_of", lambda name: 1)

    name_service.refuse_foreign_nslcd()


def test_a_socket_that_nobody_listens_on_is_no_nslcd(
    nslcd_dir: Path, listener: socket.socket
) -> None:
    listener.close()
    assert (nslcd_dir / "socket").exists()

    name_service.refuse_foreign_nslcd()


def test_the_folder_of_our_nslcd_is_removed(nslcd_dir: Path) -> None:
    name_service.MADE_HERE.write_text(f"{MARK}\n")

    name_service.remove_run_folder()

    assert not nslcd_dir.exists()


def test_the_folder_of_another_nslcd_stays(nslcd_dir: Path) -> None:
    name_service.remove_run_folder()

    assert nslcd_dir.is_dir()


@pytest.mark.usefixtures("listener")
def test_the_folder_stays_while_another_nslcd_listens_in_it(nslcd_dir: Path) -> None:
    name_service.MADE_HERE.write_text(f"{MARK}\n")

    name_service.remove_run_folder()

    assert nslcd_dir.is_dir()


def test_the_name_service_is_as_it_was_but_for_what_others_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, kept = tmp_path / "nsswitch.conf", tmp_path / "kept"
    monkeypatch.setattr(name_service, "NSSWITCH", path)
    monkeypatch.setattr(name_service, "ORIGINAL_NSSWITCH", kept)
    path.write_text("passwd: files ldap\n")
    name_service.restore_name_service()
    # Those words are the machine's.
    assert path.read_text() == "passwd: files ldap\n"

    kept.write_text("passwd: files\n")
    path.write_text("passwd: files ldap\nhosts: files dns\n")
    name_service.restore_name_service()

    assert path.read_text() == "passwd: files\nhosts: files dns\n"
    assert not kept.exists()
