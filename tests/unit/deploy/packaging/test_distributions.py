"""What the packages of the distributions are filled with."""

from __future__ import annotations

import re

import pytest

from deploy.packaging.distributions import TEMPLATES_DIR, filled, values
from tests.unit.deploy.packaging.test_version import RELEASE


@pytest.mark.parametrize(
    "name", ["debian/control", "debian/copyright", "rpm/data-scientist-portal.spec"]
)
def test_no_name_is_left_in_a_template(name: str) -> None:
    template = (TEMPLATES_DIR / name).read_text()

    text = filled(template, {**values(RELEASE), "INSTALLED_KIB": "1"})

    assert "@" in template
    assert re.findall(r"@[A-Z_]+@", text) == []


def test_the_spec_writes_days_as_rpm_reads_them() -> None:
    assert values(RELEASE)["RPM_DAY"] == "Thu Mar 04 2027"
