"""The kernels of a session by their names, as programs in jobs find them."""

import json
import os
import sys
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpecManager

from portal.batch.kernels import forget_kernel, offer_kernels
from portal.environments.command import Node


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """JUPYTER_PATH of a user with an environment, beside a shipped kernel."""
    prefix = tmp_path / "server"
    shipped = prefix / "share/jupyter/kernels/pytorch/kernel.json"
    shipped.parent.mkdir(parents=True)
    shipped.write_text(
        json.dumps(
            {
                "argv": ["python"],
                "display_name": "PyTorch",
                "language": "python",
                "env": {"KERAS_BACKEND": "torch", "PATH": "/torch:${PATH}"},
            }
        )
    )
    registry = tmp_path / "home/.config/data-scientist-portal/environments.toml"
    registry.parent.mkdir(parents=True)
    registry.write_text(f'[nlp]\nvirtualenv = "{sys.prefix}"\n')
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "prefix", str(prefix))
    return offer_kernels(tmp_path / "job", {"JUPYTER_PATH": "/site/jupyter"}, Node())


def test_shipped_kernels_and_environments_are_found_by_name(
    offered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_PATH", offered)
    found = KernelSpecManager().find_kernel_specs()

    assert found["pytorch"].endswith("/server/share/jupyter/kernels/pytorch")
    assert any("nlp" in name for name in found)
    assert offered.split(os.pathsep)[-1] == "/site/jupyter"


def test_a_job_has_nothing_of_the_kernel_that_submitted_it(offered: str) -> None:
    environ = {
        "JUPYTER_PATH": offered,
        "PORTAL_KERNEL": "pytorch",
        "PORTAL_ENVIRONMENT": "/torch",
        "KERAS_BACKEND": "torch",
        "PATH": "/torch:/usr/bin",
        "MINE": "1",
    }
    forget_kernel(environ)

    assert environ == {"JUPYTER_PATH": offered, "PATH": "/torch:/usr/bin", "MINE": "1"}
