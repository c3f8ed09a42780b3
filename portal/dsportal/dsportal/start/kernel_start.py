"""The kernel of ipykernel as sessions run it.

It runs in environments and images that have ipykernel and nothing of this project. The folder of
a notebook may be somebody else's: nothing in it is imported before the user runs a cell.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import atexit
import contextlib
import os
import shutil
import socket
import sys

# Behind all else: what an image has itself is imported from there.
sys.path += filter(None, [os.environ.get("PORTAL_KERNEL_PACKAGES")])

import zmq
from ipykernel.iostream import IOPubThread
from ipykernel.kernelapp import IPKernelApp
from zmq.eventloop.zmqstream import ZMQStream

from . import ask_line, follow_up, gpu_magic, module_magic, tensorboard_magic
from .kernel_ports import forward_ports, make_private_folder
from .other_services import advise
from .python_path import offer_library


class NotebookKernel(IPKernelApp):
    """A kernel that imports modules from the notebook's folder only from the first cell on.

    It listens on sockets that only the user can open. If an editor asks for ports, where every user
    of the node could read what cells print, another process forwards from these.
    """

    socket_prefix = ""

    def init_sockets(self):
        """Listen."""
        if self.transport == "tcp" and is_in_own_job():
            check_encryption(self)
        elif self.transport == "tcp":
            self.socket_prefix = forward_ports(self)
        with self.on_sockets():
            super().init_sockets()

    def init_heartbeat(self):
        """Listen for the heartbeat."""
        with self.on_sockets():
            super().init_heartbeat()

    @contextlib.contextmanager
    def on_sockets(self):
        """Bind what ipykernel binds to ports; the connection file keeps saying where these are."""
        asked = {"transport": self.transport, "ip": self.ip}
        bound = {"transport": "ipc", "ip": self.socket_prefix} if self.socket_prefix else asked
        for name, value in bound.items():
            self.set_trait(name, value)
        try:
            yield
        finally:
            for name, value in asked.items():
                self.set_trait(name, value)

    def init_iopub(self, context):
        """Receive the output of forked children on a socket that only the user can open.

        ipykernel opens a TCP port for it, to which every user of the node could write.
        """
        # No other socket ends in -6: those of ports are above 1023, the others -1 to -5.
        take_output_from(f"ipc://{self.ip if self.transport == 'ipc' else private_prefix()}-6")
        super().init_iopub(context)

    def init_path(self):
        """Keep the folder out of sys.path, to which IPython would add it."""

    def init_code(self):
        """Add the folder before the first cell; completion and inspection run earlier."""
        super().init_code()
        tensorboard_magic.register_magic(self.shell)
        module_magic.register_magic(self.shell)
        gpu_magic.register_magic(self.shell)
        follow_up.offer(self.shell)
        if os.environ.get("PORTAL_ASSISTANT_URL"):
            ask_line.register_magic(self.shell)
        self.shell.events.register("post_run_cell", advise)
        if self.transport == "tcp":
            tell_the_session(self.shell.events)
        events, add_folder = self.shell.events, super().init_path

        def before_the_first_cell():
            events.unregister("pre_execute", before_the_first_cell)
            add_folder()

        events.register("pre_execute", before_the_first_cell)


def is_in_own_job():
    """Return whether the notebook server is on another node, and reaches the kernel's ports."""
    return bool(os.environ.get("PORTAL_KERNEL_JOB"))


def check_encryption(app):
    """End a kernel, ipykernel's `app`, whose ports every user of the cluster could read."""
    if not getattr(app, "curve_secretkey", None):
        sys.exit(
            "The ipykernel of this environment knows no encryption, which a kernel in a job of "
            "its own needs. Install ipykernel 7.4 or newer there, or choose another kernel."
        )


def private_prefix():
    """Return what the address of a socket begins with that only the user can open."""
    folder = make_private_folder()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return os.path.join(folder, "k")


def tell_the_session(events):
    """Keep the session while a cell runs, by IPython's `events`: a kernel of VS Code is not seen.

    An open connection says it, which ends with the kernel, however that ends.
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


def start_kernel(argv=None, **options):
    """Run a kernel by `argv`, or the arguments of the process, and `options` of ipykernel."""
    offer_library()
    name_the_notebook()
    take_a_shell_that_is_here()
    NotebookKernel.launch_instance(argv, **options)
