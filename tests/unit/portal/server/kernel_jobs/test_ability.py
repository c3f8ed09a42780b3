"""Which kernels can have GPUs of their own."""

from jupyter_client.kernelspec import KernelSpec

from portal.server.kernel_jobs.ability import why_not

PYTHON = ["python", "/opt/library/dsportal/start/kernel.py", "-f", "{connection_file}"]


def spec(argv: list[str], language: str = "python", **env: str) -> KernelSpec:
    return KernelSpec(argv=argv, display_name="Mine", language=language, env=env)


def test_a_python_kernel_of_the_portal_can() -> None:
    assert why_not(spec(PYTHON)) == ""


def test_a_kernel_without_encryption_cannot_and_says_so() -> None:
    assert "knows no encryption" in why_not(spec(["R", "{connection_file}"], "R"))
    assert "knows no encryption" in why_not(spec(["python", "-m", "ipykernel"]))


def test_a_kernel_in_an_image_cannot() -> None:
    assert "is in an image" in why_not(spec(PYTHON, PORTAL_IMAGE_START="{}"))
