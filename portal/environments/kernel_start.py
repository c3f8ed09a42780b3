"""Start-up code of every Python kernel; its interpreter gets this file as text.

So it runs in environments and images that have ipykernel and nothing of this project. The folder of
a notebook may be somebody else's: nothing in it is imported before the user runs a cell.

Source:
    ipykernel 6 and 7, `ipykernel_launcher`, which `python -m` looks up in that folder.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import sys

# Before any other import: an empty entry is the notebook's folder.
sys.path[:] = [path for path in sys.path if path]

import contextlib  # noqa: E402
import os  # noqa: E402
import socket  # noqa: E402

# Behind all else: what an image has itself is imported from there.
sys.path += filter(None, [os.environ.get("PORTAL_KERNEL_PACKAGES")])

import zmq  # noqa: E402
from ipykernel.iostream import IOPubThread  # noqa: E402
from ipykernel.kernelapp import IPKernelApp  # noqa: E402
from zmq.eventloop.zmqstream import ZMQStream  # noqa: E402


class NotebookKernel(IPKernelApp):
    """A kernel that imports modules from the notebook's folder only from the first cell on."""

    def init_iopub(self, context):
        """Receive the output of forked children on a socket that only the user can open.

        ipykernel opens a TCP port for it, to which every user of the node could write.
        """
        if self.transport == "ipc":
            # The kernel's other sockets end in -1 to -5.
            take_output_from(f"ipc://{self.ip}-6")
        elif os.environ.get("PORTAL_SERVER_SOCKET"):
            folder = os.path.dirname(os.environ["PORTAL_SERVER_SOCKET"])
            take_output_from(f"ipc://{folder}/output-{os.getpid()}")
        super().init_iopub(context)

    def init_path(self):
        """Keep the folder out of sys.path, to which IPython would add it."""

    def init_code(self):
        """Add the folder before the first cell; completion and inspection run earlier."""
        super().init_code()
        if self.transport == "tcp":
            tell_the_session(self.shell.events)
        events, add_folder = self.shell.events, super().init_path

        def before_the_first_cell():
            events.unregister("pre_execute", before_the_first_cell)
            add_folder()

        events.register("pre_execute", before_the_first_cell)


def tell_the_session(events):
    """Keep the session while a cell runs: the notebook server cannot see a kernel of VS Code.

    An open connection says it, which ends with the kernel, however that ends.

    Args:
        events: Those of IPython before and after a cell.
    """
    path = os.environ.get("PORTAL_SERVER_SOCKET", "")
    held = []

    def begin():
        end()
        connection = socket.socket(socket.AF_UNIX)
        held.append(connection)
        try:
            connection.settimeout(2)
            connection.connect(path)
            connection.sendall(b"GET /session/cell HTTP/1.1\r\nHost: session\r\n\r\n")
        except OSError:
            end()

    def end():
        while held:
            with held.pop() as connection, contextlib.suppress(OSError):
                # Also where a forked child holds it.
                connection.shutdown(socket.SHUT_RDWR)

    if path:
        events.register("pre_execute", begin)
        events.register("post_execute", end)


def offer_library():
    """Import `dsportal` from the session's folder, which has no other package.

    PYTHONPATH does it, too, unless a module, an image or the entry of the environment has set it.
    """
    folder = os.environ.get("PORTAL_LIBRARY", "")
    if folder and folder not in sys.path:
        sys.path.append(folder)
        # For the ranks and whatever else the kernel starts.
        path = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([path, folder]) if path else folder


def name_the_notebook():
    """Tell MLflow in which notebook a run was made, as the notebook is called now.

    MLflow would ask the notebook server, whose address and login the kernel does not have, and name
    the option that Python was started with.

    Source:
        mlflow 3.17, mlflow.tracking.context.jupyter_notebook_context; jupyter_server 2,
        `SessionManager.get_kernel_env`.
    """
    path = os.environ.get("JPY_SESSION_NAME", "")
    if path.endswith(".ipynb"):
        os.environ["IPYNB_FILE"] = path


def take_a_shell_that_is_here():
    """Let `!` and `%pip` work in an image that lacks the shell of the session."""
    if not os.path.exists(os.environ.get("SHELL", "")):
        os.environ["SHELL"] = "/bin/sh"


def take_output_from(address):
    """Let the kernel's processes exchange output at a ZeroMQ `address` instead of a TCP port.

    Source:
        ipykernel 6 and 7, `IOPubThread._setup_pipe_in` and `_setup_pipe_out`.
    """

    def listen(thread):
        thread._pipe_uuid = os.urandom(16)
        pipe_in = thread.socket.context.socket(zmq.PULL)
        pipe_in.linger = 0
        pipe_in.bind(address)
        thread._pipe_in = ZMQStream(pipe_in, thread.io_loop)
        thread._pipe_in.on_recv(thread._handle_pipe_msg)

    def connect(thread):
        # A ZeroMQ context does not survive a fork.
        context = zmq.Context()
        pipe_out = context.socket(zmq.PUSH)
        # Milliseconds that the last output of a child may take, as in ipykernel.
        pipe_out.linger = 3000
        pipe_out.connect(address)
        return context, pipe_out

    IOPubThread._setup_pipe_in = listen
    IOPubThread._setup_pipe_out = connect


if __name__ == "__main__":
    offer_library()
    name_the_notebook()
    take_a_shell_that_is_here()
    NotebookKernel.launch_instance()
