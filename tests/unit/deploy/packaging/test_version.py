"""What a release changes in the texts that it publishes."""

from datetime import date
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.packaging.version import (
    Release,
    notes,
    read_version,
    with_absolute_links,
    with_addresses,
)

CHECKOUT = Path(__file__).parents[4]
RELEASE = Release(
    version="1.2.0",
    day=date(2027, 3, 4),
    address="https://forge.example/site/portal",
    maintainer="Ada <ada@example.com>",
)
CHANGELOG = """\
# Changelog

## [1.2.0] - unreleased

### Added

- New.

## [1.1.0] - 2027-01-01

- Old.
"""


def write_versions(checkout: Path, of_portal: str, of_library: str) -> None:
    for name, version in (("spawner", of_portal), ("portal/dsportal/dsportal", of_library)):
        (checkout / name).mkdir(parents=True)
        (checkout / name / "__init__.py").write_text(f'"""Doc."""\n\n__version__ = "{version}"\n')


def test_the_checkout_says_one_version() -> None:
    assert read_version(CHECKOUT)


def test_a_library_of_another_version_is_refused(tmp_path: Path) -> None:
    write_versions(tmp_path, "1.2.0", "1.1.0")

    with pytest.raises(DeployError, match=r"should say one version, and say: 1\.1\.0, 1\.2\.0"):
        read_version(tmp_path)


def test_the_notes_are_the_entries_of_one_version() -> None:
    assert notes(CHANGELOG, "1.2.0") == "### Added\n\n- New.\n"
    assert notes(CHANGELOG, "1.1.0") == "- Old.\n"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("![Form](docs/a.png)", "![Form]({address}/raw/v1.2.0/docs/a.png)"),
        ("[guide](docs/users.md#login)", "[guide]({address}/blob/v1.2.0/docs/users.md#login)"),
        (
            "[![Form](a.png)](b.md)",
            "[![Form]({address}/raw/v1.2.0/a.png)]({address}/blob/v1.2.0/b.md)",
        ),
        ("[here](#try-it)", "[here](#try-it)"),
        ("[Jupyter](https://jupyter.org)", "[Jupyter](https://jupyter.org)"),
    ],
)
def test_links_lead_to_the_released_files(written: str, shown: str) -> None:
    assert with_absolute_links(written, RELEASE) == shown.format(address=RELEASE.address)


def test_no_link_of_the_readme_stays_relative() -> None:
    page = with_absolute_links((CHECKOUT / "README.md").read_text(), RELEASE)

    assert f"![Choosing GPUs]({RELEASE.address}/raw/v1.2.0/docs/images/options.png)" in page
    assert "](docs/" not in page
    assert "](spawner" not in page


def test_the_index_shows_where_the_repository_is() -> None:
    setup = with_addresses((CHECKOUT / "setup.cfg").read_text(), RELEASE)

    assert f"project_urls =\n    Source = {RELEASE.address}\n" in setup
