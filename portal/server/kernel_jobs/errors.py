"""Errors of kernels in Slurm jobs of their own."""

from dsportal.slurm.errors import PortalError


class KernelJobError(PortalError):
    """A kernel cannot have GPUs in a job of its own as asked."""

    http_status = 409
