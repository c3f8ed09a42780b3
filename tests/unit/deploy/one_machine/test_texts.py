"""What deploy/up writes for LDAP, the name service, sudo and the portal."""

import tomllib
from pathlib import Path

import pytest

from deploy.common.accounts import ACCOUNT, render_sudoers
from deploy.common.errors import CommandError, DeployError
from deploy.one_machine import network
from deploy.one_machine.accounts import SLURM_USER
from deploy.one_machine.cluster import Cluster
from deploy.one_machine.directory import render_slapd_conf
from deploy.one_machine.hubs import MOST_HUBS, PUBLIC_PORT, hubs_of
from deploy.one_machine.layout import MARK
from deploy.one_machine.name_service import render_nslcd_conf, with_ldap, without_ldap
from deploy.one_machine.network import Host, render_hosts
from deploy.one_machine.portal import PUBLIC_ADDRESS, render_settings
from deploy.one_machine.slurm import refuse_foreign
from deploy.one_machine.users import GROUP, ensure_password
from portal.hub.settings.loader import load_settings
from tests.unit.deploy.one_machine.clusters import REAL, SIMULATED

NSSWITCH = """\
# Name service
passwd:         files systemd
group:          files systemd # local first
shadow:         files systemd

hosts:          files dns
netgroup:       nis
"""


def test_users_and_groups_are_looked_up_in_the_directory_last() -> None:
    lines = with_ldap(NSSWITCH).splitlines()

    assert "passwd:         files systemd ldap" in lines
    assert "group:          files systemd ldap # local first" in lines
    assert "shadow:         files systemd" in lines
    assert "hosts:          files dns" in lines


def test_adding_the_directory_twice_changes_nothing() -> None:
    assert with_ldap(with_ldap(NSSWITCH)) == with_ldap(NSSWITCH)


def test_taking_the_directory_out_again_gives_the_text_of_before() -> None:
    assert without_ldap(with_ldap(NSSWITCH)) == NSSWITCH


def test_nobody_reads_the_password_hashes() -> None:
    text = render_slapd_conf()
    rule = text[text.index("access to attrs=userPassword") :]

    # s: whether there is one; not r, nor c, with which guesses could be tried.
    assert rule.splitlines()[1:4] == [
        '    by dn.exact="cn=reader,dc=portal,dc=example" =sd',
        "    by anonymous auth",
        "    by * none",
    ]


def test_the_name_service_checks_the_certificate_and_gives_up_soon() -> None:
    lines = render_nslcd_conf("s3cret").splitlines()

    assert {"ssl start_tls", "tls_reqcert demand"} <= set(lines)
    assert {"bind_timelimit 2", "timelimit 3", "nss_initgroups_ignoreusers ALLLOCAL"} <= set(lines)


def test_sudo_allows_two_programs_without_arguments_and_nothing_else() -> None:
    text = render_sudoers(group=GROUP, slurm_user=SLURM_USER, account=ACCOUNT, mark=MARK)
    rules = [line for line in text.splitlines() if not line.startswith("#")]

    assert rules == [
        'dsportal ALL=(%dsusers) NOPASSWD: /opt/data-scientist-portal/libexec/dsportal-launcher ""',
        'dsportal ALL=(slurm) NOPASSWD: /opt/data-scientist-portal/libexec/dsportal-extender ""',
    ]


@pytest.mark.parametrize("cluster", [SIMULATED, REAL], ids=["simulated", "real"])
def test_the_settings_are_toml_that_the_hub_accepts(tmp_path: Path, cluster: Cluster) -> None:
    path = tmp_path / "portal.toml"
    path.write_text(render_settings(cluster))

    assert tomllib.loads(path.read_text())["login"]["servers"] == ["ldap://127.0.0.1:389"]
    settings = load_settings(path)
    assert settings.site.simulated_gpus is cluster.has_simulated_gpus
    assert settings.hub.address == "10.77.0.1"
    assert settings.hub.public_address == PUBLIC_ADDRESS
    assert list(settings.partitions) == ["jupyter"]


@pytest.mark.parametrize("number", range(MOST_HUBS))
def test_the_settings_of_each_of_several_hubs_name_all(tmp_path: Path, number: int) -> None:
    hubs = hubs_of(MOST_HUBS)
    path = tmp_path / "portal.toml"
    path.write_text(render_settings(SIMULATED, hubs[number], hubs))

    settings = load_settings(path)
    assert settings.hubs.paths == tuple(hub.base_url for hub in hubs)
    assert settings.hub.base_url == hubs[number].base_url
    # nginx is what users reach, and says where a login comes from.
    assert settings.hub.public_address == "127.0.0.1"
    assert settings.hub.trusted_proxies == ("127.0.0.1",)


def test_hubs_of_one_machine_share_no_port_file_and_name() -> None:
    hubs = hubs_of(MOST_HUBS)
    ports = [PUBLIC_PORT]
    for hub in hubs:
        ports += [hub.api_port, hub.public_port, hub.proxy_api_port]

    assert len(set(ports)) == len(ports)
    assert len({hub.settings for hub in hubs}) == MOST_HUBS
    assert len({hub.state_dir for hub in hubs}) == MOST_HUBS
    assert len({hub.daemon("hub") for hub in hubs}) == MOST_HUBS


def test_settings_hold_no_secret() -> None:
    text = render_settings(SIMULATED).lower()

    assert "token" not in text
    assert "password =" not in text


def test_every_host_finds_the_others_by_name() -> None:
    text = render_hosts([Host(name="node01", address="10.77.0.11")])

    assert text == "127.0.0.1 localhost\n10.77.0.1 dsphead\n10.77.0.11 node01\n"


def test_a_machine_without_the_right_to_make_devices_is_told_what_to_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(argv: list[str]) -> str:
        if "add" in argv:
            raise CommandError(argv, 2, "RTNETLINK answers: Operation not permitted\n")
        return ""

    monkeypatch.setattr(network, "run", refuse)
    monkeypatch.setattr(network, "_is_device", lambda _: False)

    with pytest.raises(DeployError, match="CAP_NET_ADMIN is missing") as caught:
        network._ensure_bridge()

    assert "--cap-add=NET_ADMIN" in caught.value.next_step


def test_the_configuration_of_another_cluster_is_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "slurm.conf"
    foreign.write_text("ClusterName=production\n")

    with pytest.raises(DeployError, match="belongs to another Slurm cluster"):
        refuse_foreign(foreign, "another Slurm cluster")

    foreign.write_text(f"# {MARK}\n")
    refuse_foreign(foreign, "another Slurm cluster")


@pytest.mark.parametrize("password", ["", "short", "two words", "line\nbreak", "x" * 129])
def test_a_password_that_cannot_be_typed_is_refused_with_the_rule(
    password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTAL_DEMO_PASSWORD", password)

    with pytest.raises(DeployError, match="6 to 128 printable ASCII characters"):
        ensure_password()
