"""Plain files with names in them."""

from pathlib import Path

import pytest

from deploy.common.template import fill


def test_names_give_way_to_values_and_nothing_else_changes(tmp_path: Path) -> None:
    template = tmp_path / "slurm.conf"
    template.write_text("# ada@site.example\nLog=@LOG_DIR@/%n.log\nUser=${user} {name}\n")

    text = fill(template, {"LOG_DIR": Path("/var/log/slurm"), "OTHER": 1})

    assert text == "# ada@site.example\nLog=/var/log/slurm/%n.log\nUser=${user} {name}\n"


def test_a_name_without_a_value_is_no_text(tmp_path: Path) -> None:
    template = tmp_path / "slurm.conf"
    template.write_text("Log=@LOG_DIR@\n")

    with pytest.raises(KeyError, match="LOG_DIR"):
        fill(template, {})
