"""Which kernels can run in a job of their own: Python's with an encryption that they know. Pure."""

from typing import Any

_PROGRAM = "dsportal/start/kernel.py"
# In the environment of kernels in images; see `portal.environments.command`.
_IMAGE = "PORTAL_IMAGE_START"


def why_not(kernel_spec: Any) -> str:
    """Return why a kernel cannot have GPUs of its own, or "".

    An ipykernel before 7.4 says so itself when it starts.

    Args:
        kernel_spec: Jupyter's.
    """
    name = kernel_spec.display_name
    if kernel_spec.language != "python" or not any(
        word.endswith(_PROGRAM) for word in kernel_spec.argv
    ):
        return (
            f"The kernel {name} knows no encryption, so it stays on the node of the session. "
            "Choose a Python kernel, or start a session with GPUs."
        )
    if _IMAGE in kernel_spec.env:
        return (
            f"The kernel {name} is in an image, which starts on the node of the session only. "
            "Choose another Python kernel, or start a session with GPUs."
        )
    return ""
