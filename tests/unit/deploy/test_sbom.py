"""The list of what an environment is made of says what its lock says."""

from __future__ import annotations

import json
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

SBOM = Path(__file__).parents[3] / "deploy/sbom"


@pytest.fixture
def sbom(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, which has no suffix."""
    loader = SourceFileLoader("sbom", str(SBOM))
    spec = spec_from_loader("sbom", loader)
    assert spec is not None
    module = module_from_spec(spec)
    # Where dataclasses look for the module that they are in.
    monkeypatch.setitem(sys.modules, "sbom", module)
    loader.exec_module(module)
    return module


def test_a_pin_is_listed_with_all_hashes_of_its_lock(sbom: ModuleType) -> None:
    hashes = f"--hash=sha256:{'a' * 64} \\\n    --hash=sha256:{'b' * 64}"
    lock = f"# A comment.\nruamel.yaml==1.0 \\\n    {hashes}\n"

    (component,) = sbom.bill_of_materials("hub", "0.1.0", sbom.read_pins(lock))["components"]

    assert component["purl"] == "pkg:pypi/ruamel-yaml@1.0"
    assert component["externalReferences"] == [
        {
            "type": "distribution",
            "url": "https://pypi.org/simple/ruamel-yaml/",
            "hashes": [
                {"alg": "SHA-256", "content": "a" * 64},
                {"alg": "SHA-256", "content": "b" * 64},
            ],
        }
    ]


def test_a_line_that_is_no_pin_is_refused(sbom: ModuleType) -> None:
    with pytest.raises(ValueError, match="'six' is not of the form name==version"):
        sbom.read_pins("six\n")


def test_a_build_of_a_version_is_part_of_the_address(sbom: ModuleType) -> None:
    (torch,) = sbom.read_pins(f"torch===2.13.0+cpu --hash=sha256:{'0' * 64}")

    assert torch.url == "pkg:pypi/torch@2.13.0%2Bcpu"


def test_a_package_of_npm_has_its_scope_licence_and_hash(sbom: ModuleType) -> None:
    entry = {"version": "1.6.1", "integrity": "sha512-q80=", "license": "MIT"}
    lock = json.dumps({"packages": {"": {}, "node_modules/a/node_modules/@b/c": entry}})

    (component,) = sbom.bill_of_materials("proxy", "0.1.0", sbom.read_npm_lock(lock))["components"]

    assert component["purl"] == "pkg:npm/%40b/c@1.6.1"
    assert component["hashes"] == [{"alg": "SHA-512", "content": "abcd"}]
    assert component["licenses"] == [{"expression": "MIT"}]


def test_a_package_of_npm_without_a_hash_is_refused(sbom: ModuleType) -> None:
    lock = json.dumps({"packages": {"node_modules/a": {"version": "1"}}})

    with pytest.raises(ValueError, match="node_modules/a has no sha512"):
        sbom.read_npm_lock(lock)


def test_every_lock_makes_a_list_in_which_each_package_has_a_hash(
    sbom: ModuleType, tmp_path: Path
) -> None:
    assert sbom.main(["--out", str(tmp_path)]) == 0

    for name, lock in sbom.locks("3.11").items():
        components = json.loads((tmp_path / f"{name}.cdx.json").read_text())["components"]
        references = [c.get("externalReferences", [c])[0] for c in components]
        n_packages = lock.read_text().count("integrity" if lock.suffix == ".json" else "==")
        assert 0 < len(components) <= n_packages
        assert all(reference["hashes"] for reference in references)


def test_an_unknown_environment_is_refused_with_the_known_ones(
    sbom: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        sbom.main(["hup"])

    assert "no lock of the name hup; there are: hub, " in capsys.readouterr().err
