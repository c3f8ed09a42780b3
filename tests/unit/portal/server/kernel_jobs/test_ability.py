"""What kernels in jobs of their own know."""

import pytest
from jupyter_client.kernelspec import KernelSpec

from portal.server.kernel_jobs.ability import is_encrypted, saves_variables

PYTHON = ["python", "/opt/library/dsportal/start/kernel.py", "-f", "{connection_file}"]
R = ["R", "{connection_file}"]
OTHER = ["python", "-m", "ipykernel"]


@pytest.mark.parametrize(
    ("argv", "language", "environ", "encrypts", "saves"),
    [
        (PYTHON, "python", {}, True, True),
        # Its ipykernel may be old.
        (PYTHON, "python", {"PORTAL_IMAGE_START": "{}"}, False, True),
        (R, "R", {}, False, False),
        (OTHER, "python", {}, False, False),
    ],
    ids=["of-the-portal", "in-an-image", "R", "of-others"],
)
def test_what_a_kernel_does_not_know_is_not_asked_of_it(
    argv: list[str], language: str, environ: dict[str, str], encrypts: bool, saves: bool
) -> None:
    spec = KernelSpec(argv=argv, display_name="Mine", language=language, env=environ)

    assert (is_encrypted(spec), saves_variables(spec)) == (encrypts, saves)
