"""Certificates of JupyterHub's internal TLS for servers on nodes that are not known yet."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping
from pathlib import Path

from spawner.catalog import Catalog
from spawner.slurm import Slurm


def names_of_nodes(catalog: Catalog) -> list[str]:
    """Return the names that a server's certificate has to hold.

    It is made before the job is submitted, so it has to be good for every node.

    Args:
        catalog: What the cluster offers.

    Returns:
        Names and addresses as certificates write them: "DNS:node01", "IP:10.77.0.11".
    """
    names: dict[str, None] = {}
    for partition in catalog.partitions.values():
        for node in partition.nodes:
            names[f"DNS:{node.name}"] = None
            names[f"{_kind(node.address)}:{node.address}"] = None
    return list(names)


async def place_certificates(
    slurm: Slurm, user: str, server: str, paths: Mapping[str, str]
) -> dict[str, str]:
    """Put the certificates of a server where it can read them.

    Args:
        slurm: Writes as the user.
        user: Whose server it is.
        server: Its name; empty for the default one. Each server has a folder of its own.
        paths: Files of the hub by "keyfile", "certfile" and "cafile".

    Returns:
        The same files in a folder that only the user can read.

    Raises:
        SlurmError: If the files could not be written.
    """
    texts = {
        name: await asyncio.to_thread(Path(path).read_text, encoding="utf-8")
        for name, path in paths.items()
    }
    folder = f"certificates-{server or 'default'}"
    return dict(await slurm.place_files(user, folder, texts))


def _kind(address: str) -> str:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return "DNS"
    return "IP"
