"""Where uv takes packages from, and what it says if there is no uv."""

from pathlib import Path

import pytest

from portal.environments.errors import RegistryError
from portal.environments.uv import find_uv, parse_pip_config


def test_the_indexes_of_pip_are_those_of_uv() -> None:
    found = parse_pip_config(
        "global.cert='/etc/site.pem'\n"
        "global.extra-index-url='https://a/simple\\nhttps://b/simple'\n"
        "global.find-links='/srv/wheels /srv/more'\n"
        "global.index-url='https://user:secret@mirror/simple'\n"
        "global.trusted-host='mirror'\n"
    )

    assert found.options == ("--find-links", "/srv/wheels", "--find-links", "/srv/more")
    assert found.variables == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://user:secret@mirror/simple",
        "UV_INDEX": "https://a/simple https://b/simple",
        "UV_INSECURE_HOST": "mirror",
        "SSL_CERT_FILE": "/etc/site.pem",
    }


def test_a_variable_of_pip_goes_before_its_files() -> None:
    found = parse_pip_config(
        ":env:.find-links='/mine'\n:env:.no-index='1'\nglobal.find-links='/site'\n"
        "install.find-links='/install'\n"
    )

    assert found.options == ("--no-index", "--find-links", "/mine")


def test_the_portals_uv_goes_before_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RegistryError, match="in a terminal of a session"):
        find_uv(tmp_path / "environments/server")
    for program in (tmp_path / "uv", tmp_path / "environments/uv/bin/uv"):
        program.parent.mkdir(parents=True, exist_ok=True)
        program.touch(mode=0o755)

        assert find_uv(tmp_path / "environments/server") == program
