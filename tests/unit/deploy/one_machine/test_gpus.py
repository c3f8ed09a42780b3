"""NVIDIA GPUs as the driver names them, and what Slurm is told about them."""

import pytest

from deploy.one_machine.gpus import Gpu, format_gres, gres_type, parse_nvidia_smi

TWO_GPUS = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <driver_version>550.54.15</driver_version>
  <attached_gpus>2</attached_gpus>
  <gpu id="00000000:86:00.0">
    <product_name>Tesla V100-SXM2-32GB</product_name>
    <minor_number>1</minor_number>
  </gpu>
  <gpu id="00000000:18:00.0">
    <product_name>Tesla V100-SXM2-32GB</product_name>
    <minor_number>0</minor_number>
  </gpu>
</nvidia_smi_log>
"""


@pytest.mark.parametrize(
    ("product_name", "expected"),
    [
        ("Tesla V100-SXM2-32GB", "v100"),
        ("Tesla V100-PCIE-16GB", "v100"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA A100 80GB PCIe", "a100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H100 NVL", "h100"),
        ("NVIDIA H200", "h200"),
        ("Tesla T4", "t4"),
        ("NVIDIA GeForce RTX 3090", "rtx_3090"),
        ("NVIDIA RTX A6000", "rtx_a6000"),
        ("Quadro RTX 8000", "rtx_8000"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA Graphics Device", "gpu"),
        ("", "gpu"),
    ],
)
def test_the_gpu_type_is_the_short_name_people_use(product_name: str, expected: str) -> None:
    assert gres_type(product_name) == expected


def test_gpus_are_listed_in_the_order_of_their_devices() -> None:
    assert parse_nvidia_smi(TWO_GPUS) == [
        Gpu(minor=0, gres_type="v100"),
        Gpu(minor=1, gres_type="v100"),
    ]


def test_a_gpu_without_a_device_is_left_out() -> None:
    without = TWO_GPUS.replace("<minor_number>1<", "<minor_number>N/A<")

    assert parse_nvidia_smi(without) == [Gpu(minor=0, gres_type="v100")]


def test_a_driver_without_gpus_offers_none() -> None:
    assert (
        parse_nvidia_smi("<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>") == []
    )


def test_the_gpus_of_a_node_are_counted_by_type() -> None:
    gpus = [
        Gpu(minor=0, gres_type="a100"),
        Gpu(minor=1, gres_type="a100"),
        Gpu(minor=2, gres_type="t4"),
    ]

    assert format_gres(gpus) == "gpu:a100:2,gpu:t4:1"
