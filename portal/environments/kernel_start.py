"""What every Python kernel does first; its interpreter gets this file as text.

So it runs in environments and images that hold ipykernel and nothing of this project. The folder of
a notebook may be somebody else's: nothing in it is imported before the user runs a cell.

Source:
    ipykernel 6 and 7, `ipykernel_launcher`, which `python -m` looks up in that folder.
"""
# mypy: allow-untyped-defs

import sys

sys.path[:] = [path for path in sys.path if path]

from ipykernel.kernelapp import IPKernelApp  # noqa: E402


class NotebookKernel(IPKernelApp):
    """A kernel that looks for modules beside the notebook from the first cell on."""

    def init_path(self):
        """Leave the folder out of the path, where IPython would add it."""

    def init_code(self):
        """Add it when the user runs something; a page completes and asks before that."""
        super().init_code()
        events, add_folder = self.shell.events, super().init_path

        def before_the_first_cell():
            events.unregister("pre_execute", before_the_first_cell)
            add_folder()

        events.register("pre_execute", before_the_first_cell)


if __name__ == "__main__":
    NotebookKernel.launch_instance()
