"""What a kernel in a job of its own knows. Pure."""

from jupyter_client.kernelspec import KernelSpec

_PROGRAM = "dsportal/start/kernel.py"
# In the environment of kernels in images; see `portal.environments.command`.
_IMAGE = "PORTAL_IMAGE_START"


def is_encrypted(kernel_spec: KernelSpec) -> bool:
    """Return whether a kernel encrypts what it sends; an ipykernel before 7.4 ends instead."""
    return saves_variables(kernel_spec) and _IMAGE not in kernel_spec.env


def saves_variables(kernel_spec: KernelSpec) -> bool:
    """Return whether a kernel answers the notebook server that wants its variables."""
    is_python = kernel_spec.language == "python"
    return is_python and any(word.endswith(_PROGRAM) for word in kernel_spec.argv)
