"""The names in the files of the packages."""

import pytest

from deploy.common.template import fill
from deploy.packaging.packages import TEMPLATES_DIR, values
from tests.unit.deploy.packaging.test_version import RELEASE


@pytest.mark.parametrize(
    "name", ["debian/control", "debian/copyright", "rpm/data-scientist-portal.spec"]
)
def test_each_name_in_a_file_has_a_value(name: str) -> None:
    assert RELEASE.address in fill(TEMPLATES_DIR / name, values(RELEASE))


def test_the_spec_writes_days_as_rpm_reads_them() -> None:
    assert values(RELEASE)["RPM_DAY"] == "Thu Mar 04 2027"
