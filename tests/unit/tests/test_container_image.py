"""The image for the kernel tests is of this machine's Debian, and of that Debian's Python."""

import io
import platform
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder.plan import Plan
from tests import container_image as image

RELEASES = [("bookworm", "3.11"), ("trixie", "3.13")]
UBUNTU = {"ID": "ubuntu", "VERSION_CODENAME": "noble", "PRETTY_NAME": "Ubuntu 24.04.3 LTS"}


@pytest.mark.parametrize(("debian", "python"), RELEASES)
def test_the_image_is_of_this_debian_with_wheels_for_its_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, debian: str, python: str
) -> None:
    commands, locks = [], []

    def run(argv: list[str | Path], **_: object) -> None:
        commands.append([str(word) for word in argv])
        if argv[0] == "mmdebstrap":
            program = Path(argv[-2]) / "usr/bin/python3"
            program.parent.mkdir(parents=True)
            program.symlink_to(f"python{python}")
        else:
            locks.append(Path(argv[-2]).read_text())

    system = {"ID": "debian", "VERSION_CODENAME": debian, "PRETTY_NAME": "Debian"}
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: system)
    monkeypatch.setattr(image, "ensure_packages", lambda names, log: None)
    monkeypatch.setattr(image, "run", run)
    monkeypatch.setattr(image, "locked", lambda plan, name: "ipykernel==1\n")
    monkeypatch.setattr(
        image, "run_pip", lambda plan, command, env_dir, *words, **_: run(["uv", command, *words])
    )

    image.make_image(Plan(prefix=tmp_path), io.StringIO())

    made, installed = commands
    assert debian in made
    assert f"deb http://deb.debian.org/debian {debian} main" in made
    assert ["--python-version", python] == installed[2:4]
    assert installed[5].endswith(f"usr/local/lib/python{python}/dist-packages")
    assert locks == ["ipykernel==1\n"]


def test_another_system_is_named_with_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: UBUNTU)

    with pytest.raises(DeployError, match="Ubuntu 24") as caught:
        image.debian_release()

    assert "Debian 12 or 13" in caught.value.next_step
