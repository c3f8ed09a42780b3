"""How many nodes the simulated cluster has."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from deploy.one_machine import cli, network, resolver
from deploy.one_machine.cluster import describe_cluster, simulated_hosts
from deploy.one_machine.node import has_slurmd
from tests.support.eventually import eventually


def test_each_node_has_a_name_and_an_address_of_its_own():
    hosts = simulated_hosts(8)

    assert [host.name for host in hosts][:2] == ["node01", "node02"]
    assert len({host.address for host in hosts} | {network.HEAD_ADDRESS}) == 9


def test_the_nodes_of_a_running_cluster_are_read_from_its_hosts_file(tmp_path, monkeypatch):
    monkeypatch.setattr(network, "HOSTS_FILE", tmp_path / "hosts")

    assert network.known_names() == []
    network.HOSTS_FILE.write_text(network.render_hosts(simulated_hosts(4)))
    assert network.known_names() == ["node01", "node02", "node03", "node04"]


@pytest.mark.parametrize("number", ["0", "9", "many"])
def test_a_number_of_nodes_that_cannot_be_is_refused_with_those_that_can(capsys, number):
    with pytest.raises(SystemExit):
        cli.up(["--simulated-nodes", number])

    assert "--simulated-nodes" in capsys.readouterr().err


def test_simulated_nodes_have_the_wanted_types_in_turn():
    nodes = describe_cluster(3, ("a100", "v100")).nodes

    assert [{gpu.gres_type for gpu in node.gpus} for node in nodes] == [
        {"a100"},
        {"v100"},
        {"a100"},
    ]
    assert {len(node.gpus) for node in nodes} == {4}


@pytest.mark.parametrize("types", ["", "a100,", "A100", "a100:2", "a100\nNodeName=x", "a100 v100"])
def test_a_type_that_slurm_would_not_take_is_refused_before_anything_starts(capsys, types):
    with pytest.raises(SystemExit):
        cli.up(["--simulated-types", types])

    assert "is no type of GPU" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["slurmd", "slurmd-wlm"])
def test_slurmd_is_found_under_the_names_that_debian_gives_it(tmp_path: Path, name: str) -> None:
    program = shutil.copy("/bin/sleep", tmp_path / name)
    with subprocess.Popen([program, "60"]) as process:
        try:
            # A new program has its name a moment after Popen returns.
            assert eventually(lambda: has_slurmd(os.getpid()), timeout_s=10)
        finally:
            process.kill()


def test_a_slurmd_that_ended_hides_no_other_one(tmp_path: Path) -> None:
    program = shutil.copy("/bin/sleep", tmp_path / "slurmd")
    # Nobody has waited for the first one yet, so that it is still in the list of processes.
    with subprocess.Popen([program, "60"]) as ended, subprocess.Popen([program, "60"]) as process:
        try:
            ended.kill()
            os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
            assert eventually(lambda: has_slurmd(os.getpid()), timeout_s=10)
        finally:
            process.kill()


def test_a_name_without_its_namespace_is_given_a_new_one(tmp_path, monkeypatch):
    (host,) = simulated_hosts(1)
    monkeypatch.setattr(network, "NAMESPACES_DIR", tmp_path)
    # As a container that was killed and started again finds it.
    network.namespace_path(host).touch()
    asked = []

    def run(argv):
        if argv[1:3] == ["netns", "add"]:
            asked.append((argv[3], network.namespace_path(host).exists()))
        # ip(8) says nothing of note.
        return ""

    monkeypatch.setattr(network, "run", run)
    monkeypatch.setattr(network, "_ensure_bridge", lambda: False)
    monkeypatch.setattr(network, "HOSTS_FILE", tmp_path / "hosts")
    monkeypatch.setattr(resolver, "NODES_RESOLV_CONF", tmp_path / "resolv.conf")

    network.ensure_network([host])

    assert asked == [("dsp-node01", False)]
