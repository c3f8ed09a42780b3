"""promtool comes from the package that has it in this machine's Debian."""

import platform

import pytest

from deploy.environments.builder import unpacked


@pytest.mark.parametrize(
    ("system", "package"),
    [
        ({"ID": "debian", "VERSION_ID": "12"}, "prometheus"),
        ({"ID": "debian", "VERSION_ID": "13"}, "promtool"),
        # Debian's unstable has no number.
        ({"ID": "debian"}, "promtool"),
    ],
)
def test_since_debian_13_promtool_is_a_package_of_its_own(
    monkeypatch: pytest.MonkeyPatch, system: dict[str, str], package: str
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: system)

    assert unpacked.promtool_package() == package
